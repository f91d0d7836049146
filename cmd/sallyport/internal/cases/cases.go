// Package cases reads the cases of a plugin's author, answers the plugin's questions while they run, and compares the results.
//
//	# rates.cases.yaml, beside rates.py
//	grants:
//	  - net: GET https://api.example.com/**
//	web:
//	  GET https://api.example.com/rate: {json: {rate: 2}}
//	cases:
//	  - call: convert
//	    with: {amount: 3}
//	    text: "6"
//	  - call: order
//	    answers: [{colour: red}]
//	    structured: {ordered: red}
//	  - read: rates://today
//	    error: not found
package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// limits bound a file of cases.
var limits = strictyaml.Limits{Bytes: 4 << 20, Depth: 64}

// File is a file of cases.
type File struct {
	Grants []string // grant lines of the plugin; none allows files or secrets
	Cases  []Case   // at least one
}

// Case is one request, and what has to come of it.
type Case struct {
	Name    string
	Line    int    // of the file
	Method  string // "tools/call", "resources/read" or "prompts/get"
	Target  string // the name of the tool or of the prompt, or the address of the resource
	With    json.RawMessage
	Answers []json.RawMessage // to forms: an object, or "decline" or "cancel"
	Model   []string          // the texts of the client's model
	Roots   []string          // the folders of the client
	Web     Web
	Want    Want
}

// Want is what a case expects; zero members expect nothing.
type Want struct {
	Text       *string         // all texts of the result, a line each
	Structured json.RawMessage // the structured content
	Error      *string         // a part of the error's text; nil wants no error
	Denied     *string         // a part of an effect that is refused
}

// Beside returns the path of the cases of a plugin file: those of rates.py are in rates.cases.yaml.
func Beside(plugin string) string {
	return strings.TrimSuffix(plugin, filepath.Ext(plugin)) + ".cases.yaml"
}

// Read reads a file of cases. Errors have its name, and a line.
func Read(path string) (*File, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(raw)
	var at *strictyaml.Error
	if errors.As(err, &at) {
		return nil, fmt.Errorf("%s:%d: %s", path, at.Line, at.Problem)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func parse(raw []byte) (*File, error) {
	root, err := strictyaml.Parse(raw, limits)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, strictyaml.Errorf(1, "the file is empty: write cases: and below it - call: TOOL")
	}
	f := &File{}
	web := Web{}
	var list *strictyaml.Node
	err = root.Each("the file", func(key, value *strictyaml.Node) error {
		switch key.Text {
		case "grants":
			return f.readGrants(value)
		case "web":
			return web.read(value)
		case "cases":
			list = value
			return nil
		}
		return key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, []string{"grants", "web", "cases"}))
	})
	if err != nil {
		return nil, err
	}
	if list == nil || list.Kind != strictyaml.Sequence || len(list.Items) == 0 {
		return nil, strictyaml.Errorf(max(root.Line, 1), "cases: want a list of at least one")
	}
	for _, item := range list.Items {
		c := Case{Line: item.Line, Web: web}
		if err := c.read(item); err != nil {
			return nil, err
		}
		f.Cases = append(f.Cases, c)
	}
	return f, nil
}

// readGrants reads lines as the configuration has them: a text, or one key with its value. Files and secrets of this
// machine are the only effects of cases that are not made up: a file that came with a plugin does not grant them.
func (f *File) readGrants(list *strictyaml.Node) error {
	if list.Kind != strictyaml.Sequence {
		return list.Errorf("grants: want a list")
	}
	for _, item := range list.Items {
		text := item.Text
		if item.Kind == strictyaml.Mapping {
			if len(item.Members) != 1 {
				return item.Errorf("a grant is one line, such as net: GET https://api.example.com/**")
			}
			m := item.Members[0]
			text = m.Key.Text + ": " + m.Value.Text
			if !m.Value.IsScalar() {
				text = m.Key.Text + ": " + string(m.Value.JSON())
			}
		}
		if g, err := grant.ParseLine(text); err == nil && (g.Family == grant.FS || g.Family == grant.SecretFamily) && !g.Deny {
			return item.Errorf("the cases do not grant files and secrets of this machine: give the line %.200q with --grant", text)
		}
		f.Grants = append(f.Grants, text)
	}
	return nil
}

// caseKeys are the keys of a case.
var caseKeys = []string{"name", "call", "read", "prompt", "with", "answers", "model", "roots", "web", "text", "structured", "error", "denied"}

func (c *Case) read(n *strictyaml.Node) error {
	if err := n.Each("a case", c.readKey); err != nil {
		return err
	}
	if c.Method == "" {
		return n.Errorf("a case has one of call, read and prompt")
	}
	if c.Name == "" {
		c.Name = strings.TrimSpace(c.Target + " " + string(c.With))
	}
	return nil
}

func (c *Case) readKey(key, value *strictyaml.Node) (err error) {
	switch key.Text {
	case "name":
		c.Name, err = value.Scalar("name")
	case "call":
		return c.target("tools/call", key, value)
	case "read":
		return c.target("resources/read", key, value)
	case "prompt":
		return c.target("prompts/get", key, value)
	case "with":
		if value.Kind != strictyaml.Mapping {
			return value.Errorf("with: want the arguments by name")
		}
		c.With = value.JSON()
	case "answers":
		err = c.readAnswers(value)
	case "model":
		c.Model, err = value.Texts("model")
	case "roots":
		c.Roots, err = value.Texts("roots")
	case "web":
		c.Web = c.Web.clone()
		err = c.Web.read(value)
	case "structured":
		c.Want.Structured = value.JSON()
	case "text", "error", "denied":
		var text string
		if text, err = value.Scalar(key.Text); err == nil {
			*map[string]**string{"text": &c.Want.Text, "error": &c.Want.Error, "denied": &c.Want.Denied}[key.Text] = &text
		}
	default:
		return key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, caseKeys))
	}
	return err
}

func (c *Case) target(method string, key, value *strictyaml.Node) (err error) {
	if c.Method != "" {
		return key.Errorf("a case has one of call, read and prompt")
	}
	c.Method = method
	c.Target, err = value.Scalar(key.Text)
	return err
}

func (c *Case) readAnswers(list *strictyaml.Node) error {
	if list.Kind != strictyaml.Sequence {
		return list.Errorf("answers: want a list of forms, decline or cancel")
	}
	for _, item := range list.Items {
		if item.Kind != strictyaml.Mapping && !slices.Contains([]string{"decline", "cancel"}, item.Text) {
			return item.Errorf("an answer is the values of a form, decline or cancel")
		}
		c.Answers = append(c.Answers, item.JSON())
	}
	return nil
}

// Params returns the members of the request's params.
func (c *Case) Params() jsonraw.Object {
	if c.Method == "resources/read" {
		return jsonraw.Object{{Key: "uri", Value: jsonraw.AppendString(nil, c.Target)}}
	}
	with := c.With
	if with == nil {
		with = json.RawMessage("{}")
	}
	return jsonraw.Object{{Key: "name", Value: jsonraw.AppendString(nil, c.Target)}, {Key: "arguments", Value: with}}
}

// Check returns the ways in which a result differs from what the case expects. failed is the text of an error of the
// protocol, "" for a result.
func (c *Case) Check(result json.RawMessage, failed string) (differences []string) {
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	text := strings.Join(texts(result), "\n")
	isError := failed != "" || bytes.Equal(jsonraw.Get(result, "isError"), []byte("true"))
	if failed != "" {
		text = failed
	}
	switch {
	case isError && c.Want.Error == nil && c.Want.Denied == nil:
		differ("got the error %q, want none", text)
	case !isError && c.Want.Error != nil:
		differ("got %q, want an error with %q", text, *c.Want.Error)
	case isError && c.Want.Error != nil && !strings.Contains(text, *c.Want.Error):
		differ("got the error %q, want %q in it", text, *c.Want.Error)
	}
	if c.Want.Text != nil && text != *c.Want.Text {
		differ("got the text %q, want %q", text, *c.Want.Text)
	}
	if got := jsonraw.Get(result, "structuredContent"); c.Want.Structured != nil && !equal(got, c.Want.Structured) {
		differ("got the structured content %s, want %s", orNone(got), c.Want.Structured)
	}
	if c.Want.Denied != nil && !slices.ContainsFunc(denials(result), func(effect string) bool { return strings.Contains(effect, *c.Want.Denied) }) {
		differ("got the denied effects %q, want one with %q", denials(result), *c.Want.Denied)
	}
	return differences
}

func orNone(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("none")
	}
	return v
}

// equal compares two values of JSON, without the order of members and the form of numbers.
func equal(a, b json.RawMessage) bool { return string(plain(a)) == string(plain(b)) }

func plain(raw json.RawMessage) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	text, _ := json.Marshal(v) // it was decoded
	return text
}

// texts returns the texts of a tool's result, of a resource or of a prompt.
func texts(result json.RawMessage) (all []string) {
	for _, member := range []string{"content", "contents", "messages"} {
		blocks, _ := jsonraw.Elements(jsonraw.Get(result, member))
		for _, block := range blocks {
			if member == "messages" {
				block = jsonraw.Get(block, "content")
			}
			if text, ok := jsonraw.String(jsonraw.Get(block, "text")); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// denials returns the refused effects of a call, from its receipt.
func denials(result json.RawMessage) (effects []string) {
	all, _ := jsonraw.Elements(jsonraw.Get(jsonraw.Get(jsonraw.Get(result, "_meta"), "dev.sallyport/receipt"), "denials"))
	for _, d := range all {
		effect, _ := jsonraw.String(jsonraw.Get(d, "effect"))
		effects = append(effects, effect)
	}
	return effects
}

// Same returns a sentence if two results of one request differ in what a caller sees; "" if not.
func Same(a, b json.RawMessage) string {
	one, other := seen(a), seen(b)
	if equal(one, other) {
		return ""
	}
	return fmt.Sprintf("%s, and %s", one, other)
}

// seen returns a result without the host's account of it.
func seen(result json.RawMessage) json.RawMessage {
	o, err := jsonraw.ParseObject(result)
	if err != nil {
		return result
	}
	o = slices.DeleteFunc(o, func(m jsonraw.Member) bool { return m.Key == "_meta" })
	return o.Append(nil)
}
