package hostfuncs

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxQuestionText limits the message of an elicitation to a readable length, in bytes.
	maxQuestionText = 4 << 10
	// maxForm limits a whole form, in bytes.
	maxForm = elicit.MaxParams
	// maxFieldsOfForm limits the fields of a form.
	maxFieldsOfForm = 64
)

// prepareElicitation prepares elicitation/create {mode?, message, requestedSchema | url}.
func prepareElicitation(g *Gate, params json.RawMessage) (json.RawMessage, effect, error) {
	o, err := questionParams(g, params, "mode", "message", "requestedSchema", "url")
	if err != nil {
		return nil, effect{}, err
	}
	message, ok := jsonraw.String(o.Get("message"))
	switch {
	case len(params) > maxForm:
		return nil, effect{}, askErrorf(runtime.KindLimit, "an elicitation is longer than %d bytes", maxForm)
	case !ok:
		return nil, effect{}, askErrorf(runtime.KindInvalid, "an elicitation needs a message")
	case len(message) > maxQuestionText:
		return nil, effect{}, askErrorf(runtime.KindLimit, "the message of an elicitation is longer than %d bytes", maxQuestionText)
	}
	mode, named := jsonraw.String(o.Get("mode"))
	var e effect
	switch {
	case named && mode == "url":
		o.Delete("requestedSchema")
		e, err = prepareURL(&g.rules, o)
	case named && mode != "form":
		err = askErrorf(runtime.KindInvalid, "the mode of an elicitation is form or url")
	default:
		mode = "form"
		o.Delete("url")
		e = effect{family: "elicitation", act: "ask the client's user", decide: func(s *grant.Set) grant.Decision { return s.Elicit(nil) }}
		if err = checkForm(message, o.Get("requestedSchema")); err == nil {
			o.Set("requestedSchema", author(g.policy.plugin.Name).mark(o.Get("requestedSchema")))
		}
	}
	o.Set("mode", jsonraw.AppendString(nil, mode))
	o.Set("message", jsonraw.AppendString(nil, author(g.policy.plugin.Name).asks(inert(message), collapsed)))
	return o.Append(nil), e, err
}

// prepareURL checks the URL that the user is to open.
func prepareURL(r *rules, o jsonraw.Object) (effect, error) {
	text, ok := jsonraw.String(o.Get("url"))
	if !ok {
		return effect{}, askErrorf(runtime.KindInvalid, "an elicitation of mode url needs a url")
	}
	u, err := egress.ParseURL(text, nil)
	if err != nil {
		return effect{}, err
	}
	o.Set("url", jsonraw.AppendString(nil, u.String())) // canonical, as checked: no client can read it differently
	return sendingTo(r, u), nil
}

// sendingTo is the effect of sending the user to a canonical URL. The address classes of fetches apply: a browser in the
// operator's network can reach hosts that are denied to the plugin.
func sendingTo(r *rules, u *url.URL) effect {
	return effect{
		family: "elicitation", act: "send the client's user to " + u.String(), target: u.Scheme + "://" + u.Host,
		decide: func(s *grant.Set) grant.Decision { return s.Elicit(u) },
		web: web{inside: func() bool { return r.policy.net.ForeseeShown(u.Hostname(), egress.Reach{}) != nil },
			reach: func(d grant.Decision) *refusal {
				var address *egress.AddressError
				if !errors.As(r.policy.net.ForeseeShown(u.Hostname(), reachOf(d)), &address) {
					return nil
				}
				no := &refusal{reason: notReached(r.policy.net, address, d)}
				switch own := r.policy.net.ClassOf(u.Hostname()); {
				case own == egress.Private || own == egress.Loopback:
					no.line = r.grants.Limits().Elicit(u).Suggest
				case address.Class == egress.Private:
					no.line = r.grants.Limits().SuggestPrivatePage(u)
				}
				return no
			}},
	}
}

// checkForm enforces MCP's limits on a form: an object with primitive properties. Forms must not ask for secrets,
// because the client, and any model behind it, reads the answer. If a field takes typed text, the message and the
// form's own texts must not name a secret either.
func checkForm(message string, asked json.RawMessage) error {
	if kind, _ := jsonraw.String(jsonraw.Get(asked, "type")); kind != "object" {
		return askErrorf(runtime.KindInvalid, "requestedSchema is a schema of type object")
	}
	for _, key := range []string{"title", "description"} {
		if text, _ := jsonraw.String(jsonraw.Get(asked, key)); severalLines(text) {
			return askErrorf(runtime.KindInvalid, "the %s of the form has more than one line: say it in the message", key)
		}
	}
	if err := jsonschema.Check(asked); err != nil {
		return askErrorf(runtime.KindInvalid, "requestedSchema: %v", err)
	}
	fields, err := jsonraw.ParseObject(jsonraw.Get(asked, "properties"))
	if err != nil {
		return askErrorf(runtime.KindInvalid, "requestedSchema has no properties")
	}
	if len(fields) > maxFieldsOfForm {
		return askErrorf(runtime.KindLimit, "a form has more than %d fields", maxFieldsOfForm)
	}
	typed := false
	for _, f := range fields {
		if err := checkField(f.Key, f.Value); err != nil {
			return err
		}
		typed = typed || takesText(f.Value)
	}
	title, _ := jsonraw.String(jsonraw.Get(asked, "title"))
	description, _ := jsonraw.String(jsonraw.Get(asked, "description"))
	if typed && (untrusted.NamesSecret(message) || untrusted.NamesSecret(title) || untrusted.NamesSecret(description)) {
		return askErrorf(runtime.KindInvalid, "the form looks as if it asks for a secret: send the user to a page with mode url")
	}
	return nil
}

// takesText reports whether a field takes typed text or numbers.
func takesText(field json.RawMessage) bool {
	switch kind, _ := jsonraw.String(jsonraw.Get(field, "type")); kind {
	case "string", "number", "integer":
		return jsonraw.Get(field, "enum") == nil && jsonraw.Get(field, "oneOf") == nil
	}
	return false
}

func checkField(name string, field json.RawMessage) error {
	if name == "" || sanitize.Visible(name) != name {
		return askErrorf(runtime.KindInvalid, "field %q of the form has an empty name, or one with invisible characters", cut(name, maxMethod))
	}
	kind, _ := jsonraw.String(jsonraw.Get(field, "type"))
	switch kind {
	case "string", "number", "integer", "boolean":
	case "array": // choices
		if items, _ := jsonraw.String(jsonraw.Get(field, "items", "type")); items != "string" && jsonraw.Get(field, "items", "anyOf") == nil {
			return askErrorf(runtime.KindInvalid, "field %q of the form is a list of something else than choices", cut(name, maxMethod))
		}
	default:
		return askErrorf(runtime.KindInvalid, "field %q of the form is no string, number, integer, boolean or list of choices", cut(name, maxMethod))
	}
	texts := []string{name}
	for _, key := range []string{"title", "description", "format", "default"} {
		text, _ := jsonraw.String(jsonraw.Get(field, key))
		texts = append(texts, text)
	}
	for _, text := range append(choiceTexts(field), texts...) {
		if severalLines(text) {
			return askErrorf(runtime.KindInvalid,
				"field %q of the form has a text of more than one line: say it in the message", cut(name, maxMethod))
		}
	}
	for _, value := range untitled(field) {
		if text, _ := jsonraw.String(value); strings.ReplaceAll(inert(text), "[.]", ".") != text {
			return askErrorf(runtime.KindInvalid, "field %q of the form has a choice that is an address: give each choice a title", cut(name, maxMethod))
		}
	}
	for _, text := range texts {
		if untrusted.NamesSecret(text) {
			return askErrorf(runtime.KindInvalid,
				"field %q of the form looks like a secret: send the user to a page with mode url", cut(name, maxMethod))
		}
	}
	return nil
}

// choiceTexts returns the texts of a field's choices.
func choiceTexts(field json.RawMessage) (all []string) {
	add := func(raw json.RawMessage) {
		if text, ok := jsonraw.String(raw); ok {
			all = append(all, text)
		}
	}
	for _, holder := range []json.RawMessage{field, jsonraw.Get(field, "items")} {
		for _, list := range []string{"enum", "enumNames", "oneOf", "anyOf"} {
			for s := jsonraw.ScanArray(jsonraw.Get(holder, list)); s.Next(); {
				add(s.Value)
				add(jsonraw.Get(s.Value, "const"))
				add(jsonraw.Get(s.Value, "title"))
				add(jsonraw.Get(s.Value, "description"))
			}
		}
	}
	return all
}

// untitled returns the choices of a field that are displayed by value.
func untitled(field json.RawMessage) (values []json.RawMessage) {
	for _, holder := range []json.RawMessage{field, jsonraw.Get(field, "items")} {
		if list, err := jsonraw.Elements(jsonraw.Get(holder, "enum")); err == nil && jsonraw.Get(holder, "enumNames") == nil {
			values = append(values, list...)
		}
		for _, key := range []string{"oneOf", "anyOf"} {
			for s := jsonraw.ScanArray(jsonraw.Get(holder, key)); s.Next(); {
				if jsonraw.Get(s.Value, "title") == nil {
					values = append(values, jsonraw.Get(s.Value, "const"))
				}
			}
		}
	}
	return values
}

// severalLines reports whether a text has more than one line. Next to a field, the author of further lines is not
// apparent.
func severalLines(text string) bool { return strings.ContainsFunc(strings.TrimSpace(text), breaksLine) }

// acceptElicitation requires {action, content?}, and accepted content that validates against the form.
func acceptElicitation(asked, answer json.RawMessage) (json.RawMessage, error) {
	answer, err := answered(answer, "action", "content")
	if err != nil {
		return nil, err
	}
	o, err := jsonraw.ParseObject(answer)
	if err != nil {
		return nil, badAnswer("is not an object")
	}
	action, _ := jsonraw.String(o.Get("action"))
	fields := jsonraw.Get(asked, "requestedSchema")
	switch {
	case action == "decline" || action == "cancel":
		o.Delete("content")
		return o.Append(nil), nil
	case action != "accept":
		return nil, badAnswer("is neither accept nor decline nor cancel")
	case fields == nil: // a URL: the answer does not report the outcome
		o.Delete("content")
		return o.Append(nil), nil
	}
	s, err := jsonschema.Compile(fields, nil)
	if err != nil {
		return nil, askErrorf(runtime.KindInvalid, "requestedSchema: %v", err)
	}
	content := o.Get("content")
	if content == nil {
		content = json.RawMessage("{}")
		o.Set("content", content)
	}
	if err := s.Validate(content); err != nil {
		return nil, askErrorf(runtime.KindInvalid, "the client's answer does not fit the form: %v", err)
	}
	return o.Append(nil), nil
}

func elicitationFamily() family {
	users := func(s *grant.Set) grant.Decision { return s.Elicit(nil) }
	return family{
		name: "elicitation", acts: []string{"ask the client's user", "send the client's user to URL"},
		explain:    either(plain("elicitation", users, "ask the client's user"), explainSending),
		questions:  map[string]question{"elicitation/create": {prepareElicitation, acceptElicitation}},
		asksClient: true,
	}
}

// explainSending explains an elicitation of a URL.
func explainSending(r *rules, act string) (Explanation, bool, error) {
	text, ok := strings.CutPrefix(act, "send the client's user to ")
	if !ok {
		return Explanation{}, false, nil
	}
	u, err := egress.ParseURL(text, nil)
	if err != nil {
		return Explanation{}, false, nil
	}
	return r.explain(sendingTo(r, u)), true, nil
}
