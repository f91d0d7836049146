package command

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

const (
	// maxText limits one text of the file, in bytes.
	maxText = 16 << 10
	// maxEnv limits the variables of one tool, maxExits its exit codes.
	maxEnv, maxExits = 64, 256
	// maxSecret limits the name of a secret, in bytes, as a grant does.
	maxSecret = 128
)

// tool is one tool of a program.
type tool struct {
	name  string
	used  map[string]bool // the arguments that it passes on
	args  []entry
	stdin *slot // nil is at its end
	// stdinOf says what the value of stdin names, whose content is the input: "file", by its path, or "resource", by its
	// URI. Empty is the value itself.
	stdinOf string
	env     []variable
	output  output
	exits   map[uint32]outcome
	other   outcome // of the exit codes not listed
	stderr  string  // "log" or "progress"
	once    bool    // its calls go on where the program waits for its input
}

// variable is one variable of the environment: a literal text, a value of the caller, or the placeholder of a secret.
type variable struct {
	name, text string
	value      *slot
	secret     string // the name of the secret
}

// outcome is the meaning of an exit code.
type outcome struct {
	is      string // isOK, isError or isRetry
	message string // of a failure; "" is a general one
}

// The meanings of an exit code.
const (
	isOK    = "ok"
	isError = "error"
	isRetry = "retry"
)

// own are the keys of a tool that are not MCP's.
func own() []string { return []string{"args", "stdin", "env", "output", "exit", "stderr", "start"} }

// parseTool parses one tool of a program, and returns its definition for clients.
func parseTool(at place, raw json.RawMessage, program string) (*tool, json.RawMessage, error) {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, nil, at.fail("a tool has keys and values: write name: NAME")
	}
	if err := at.keys(o, append(own(), "name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta")...); err != nil {
		return nil, nil, err
	}
	t := &tool{stderr: "log", other: outcome{is: isError}, exits: map[uint32]outcome{0: {is: isOK}}}
	if t.name, err = at.key("name").text(o.Get("name"), maxName); err != nil {
		return nil, nil, err
	}
	if t.name == "" {
		return nil, nil, at.fail("the tool has no name: write name: NAME")
	}
	if meta := o.Get("_meta"); meta != nil && !jsonraw.IsObject(meta) {
		return nil, nil, at.key("_meta").fail("_meta has keys and values")
	}
	in, err := parseSchema(at.key("inputSchema"), o.Get("inputSchema"))
	if err != nil {
		return nil, nil, err
	}
	for _, read := range []func(place, jsonraw.Object, *schema) error{t.readArgs, t.readStdin, t.readEnv, t.readOutput, t.readExit, t.readStderr, t.readStart} {
		if err := read(at, o, in); err != nil {
			return nil, nil, err
		}
	}
	t.used = in.used
	if unused := in.unused(); unused != "" {
		return nil, nil, at.key("inputSchema").key("properties").key(unused).fail(
			"the argument %q reaches the program nowhere: write \"{%s}\" into args, stdin or env, or remove it", clip(unused), clip(unused))
	}
	return t, definition(o, program), nil
}

// Meta is the _meta member with the command line of a tool. It is a part of the definition that is approved, and not
// published.
const Meta = "dev.sallyport/command"

// definition returns a tool as MCP defines it, with its other keys in _meta, and the name that the program sees.
func definition(o jsonraw.Object, program string) json.RawMessage {
	if o.Get("inputSchema") == nil {
		o.Set("inputSchema", json.RawMessage(`{"type":"object"}`))
	}
	var line jsonraw.Object
	if program != "" { // many a program does something else under another name
		line.Set("program", jsonraw.AppendString(nil, program))
	}
	for _, key := range own() {
		if value := o.Get(key); value != nil {
			line.Set(key, value)
			o.Delete(key)
		}
	}
	meta, _ := jsonraw.ParseObject(o.Get("_meta"))
	meta.Set(Meta, line.Append(nil))
	o.Set("_meta", meta.Append(nil))
	return o.Append(nil)
}

func (t *tool) readStdin(at place, o jsonraw.Object, in *schema) error {
	raw, at := o.Get("stdin"), at.key("stdin")
	if jsonraw.IsObject(raw) {
		return t.readStdinOf(at, raw, in)
	}
	text, err := at.text(raw, maxText)
	if err != nil || raw == nil {
		return err
	}
	name, ok := placeholder(text)
	if !ok {
		return at.fail("stdin is one argument of the tool: write stdin: \"{NAME}\", stdin: {file: \"{NAME}\"} for a file, or stdin: {resource: \"{NAME}\"} for a resource")
	}
	t.stdin, err = in.slot(at, name)
	return err
}

// The sources of standard input that an argument names.
const (
	ofFile     = "file"
	ofResource = "resource"
)

// readStdinOf parses {file: "{NAME}"} and {resource: "{NAME}"}: the argument is the path of the file, or the URI of the
// resource, that the program reads.
func (t *tool) readStdinOf(at place, raw json.RawMessage, in *schema) error {
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return at.fail("%v", err)
	}
	if err := at.keys(o, ofFile, ofResource); err != nil {
		return err
	}
	if len(o) != 1 {
		return at.fail("stdin is one argument of the tool, the path of a file or the URI of a resource: write stdin: {file: \"{NAME}\"} or stdin: {resource: \"{NAME}\"}")
	}
	t.stdinOf, at = o[0].Key, at.key(o[0].Key)
	text, err := at.text(o[0].Value, maxText)
	if err != nil {
		return err
	}
	by := map[string]string{ofFile: "path", ofResource: "URI"}[t.stdinOf]
	name, ok := placeholder(text)
	if !ok {
		return at.fail("the %s is one argument of the tool, its %s: write stdin: {%[1]s: \"{NAME}\"}", t.stdinOf, by)
	}
	if t.stdin, err = in.slot(at, name); err != nil {
		return err
	}
	if t.stdin.kind != "string" || t.stdin.base64 {
		return at.fail("the argument %q is a %s: write type: string in its schema, and no contentEncoding", clip(name), by)
	}
	return nil
}

func (t *tool) readEnv(at place, o jsonraw.Object, in *schema) (err error) {
	t.env, err = readVariables(at.key("env"), o.Get("env"), in)
	return err
}

// readVariables parses env. A nil schema is that of a server, which has no arguments of a caller.
func readVariables(at place, raw json.RawMessage, in *schema) (env []variable, err error) {
	if raw == nil {
		return nil, nil
	}
	vars, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, at.fail("env has one NAME: VALUE for each variable")
	}
	if len(vars) > maxEnv {
		return nil, at.fail("there are %d variables, at most %d are allowed", len(vars), maxEnv)
	}
	for _, m := range vars {
		at := at.key(m.Key)
		if !isVariable(m.Key) {
			return nil, at.fail("%q is no name of a variable: letters, digits and _, not PWD", clip(m.Key))
		}
		v, err := readVariable(at, m, in)
		if err != nil {
			return nil, err
		}
		env = append(env, v)
	}
	return env, nil
}

func readVariable(at place, m jsonraw.Member, in *schema) (variable, error) {
	v := variable{name: m.Key}
	text, err := at.text(m.Value, maxText)
	if err != nil {
		return v, err
	}
	name, valued := placeholder(text)
	secret, secretive := secretIn(text)
	switch {
	case secretive && !isSecret(secret):
		err = at.fail("%q is no name of a secret: letters, digits and _ . -", clip(secret))
	case secretive:
		v.secret = secret
	case valued && in == nil:
		err = at.fail("a server has no arguments of a caller: write a text, or a secret as {secret.NAME}")
	case valued:
		if v.value, err = in.slot(at, name); err == nil {
			err = v.value.single(at)
		}
	default:
		v.text, err = literal(at, text)
	}
	return v, err
}

// SecretVariables returns the secrets of an env member, by the names of their variables. Nil has none.
func SecretVariables(env json.RawMessage) map[string]string {
	secrets := map[string]string{}
	vars, _ := jsonraw.ParseObject(env)
	for _, m := range vars {
		text, _ := jsonraw.String(m.Value)
		if name, ok := secretIn(text); ok && isSecret(name) && isVariable(m.Key) {
			secrets[m.Key] = name
		}
	}
	return secrets
}

// secretIn returns the name in a text that is the placeholder of a secret.
func secretIn(text string) (name string, ok bool) {
	name, ok = strings.CutPrefix(text, "{secret.")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

// isSecret reports whether a secret may have this name.
func isSecret(name string) bool {
	return isName(strings.ReplaceAll(name, ".", "_")) && len(name) <= maxSecret
}

// isVariable reports whether a tool file may set a variable of this name.
func isVariable(name string) bool {
	for i, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= maxName && name != "PWD"
}

// readExit parses the meanings of exit codes: CODE: ok, CODE: retry, or CODE: a message; "other" is every other code.
func (t *tool) readExit(at place, o jsonraw.Object, _ *schema) error {
	raw, at := o.Get("exit"), at.key("exit")
	if raw == nil {
		return nil
	}
	codes, err := jsonraw.ParseObject(raw)
	if err != nil {
		return at.fail("exit has one CODE: MEANING for each exit code")
	}
	if len(codes) > maxExits {
		return at.fail("there are %d exit codes, at most %d are allowed", len(codes), maxExits)
	}
	for _, m := range codes {
		at := at.key(m.Key)
		meaning, err := parseOutcome(at, m.Value)
		if err != nil {
			return err
		}
		if m.Key == "other" {
			t.other = meaning
			continue
		}
		code, err := strconv.ParseUint(m.Key, 10, 8)
		if err != nil || m.Key != strconv.FormatUint(code, 10) {
			return at.fail("%q is no exit code: write a number from 0 to 255, or other", clip(m.Key))
		}
		t.exits[uint32(code)] = meaning
	}
	return nil
}

// parseOutcome parses ok, error, retry, or an object with one of error and retry and its message.
func parseOutcome(at place, raw json.RawMessage) (outcome, error) {
	if word, ok := jsonraw.String(raw); ok && slices.Contains([]string{isOK, isError, isRetry}, word) {
		return outcome{is: word}, nil
	}
	if o, err := jsonraw.ParseObject(raw); err == nil && len(o) == 1 && (o[0].Key == isError || o[0].Key == isRetry) {
		message, err := at.key(o[0].Key).text(o[0].Value, maxText)
		message, _ = sanitize.Text(message)
		return outcome{o[0].Key, strings.TrimSuffix(message, ".")}, err
	}
	return outcome{}, at.fail("an exit code means ok, error, retry, {error: MESSAGE} or {retry: MESSAGE}")
}

func (t *tool) readStderr(at place, o jsonraw.Object, _ *schema) error {
	raw := o.Get("stderr")
	if raw == nil {
		return nil
	}
	word, _ := jsonraw.String(raw)
	if word != "log" && word != "progress" {
		return at.key("stderr").fail("stderr is log or progress")
	}
	t.stderr = word
	return nil
}

// outcomeOf returns the meaning of an exit code.
func (t *tool) outcomeOf(code uint32) outcome {
	if o, ok := t.exits[code]; ok {
		return o
	}
	return t.other
}
