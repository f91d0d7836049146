package command

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// serverKey is the key of a tool file that has the command line of a whole MCP server, in place of tools.
const serverKey = "server"

// ServerOf returns the server member of a tool file in JSON; nil if it has none.
func ServerOf(raw []byte) json.RawMessage { return jsonraw.Get(raw, serverKey) }

// Server returns the command line of a whole MCP server; false if the file has tools.
func (p *Program) Server() (l runtime.CommandLine, ok bool) {
	if p.server == nil {
		return l, false
	}
	return *p.server, true
}

// readServer parses the command line of a server.
func (p *Program) readServer(at place, o jsonraw.Object) error {
	if o.Get("tools") != nil {
		return at.fail("a file has tools or a server, not both: the tools of a server are those that it lists")
	}
	raw := o.Get(serverKey)
	server, err := jsonraw.ParseObject(raw)
	if err != nil {
		return at.fail("a server has keys and values: write server: {args: [ARGUMENT, …], env: {NAME: TEXT}}, or server: {} for neither")
	}
	if err := at.keys(server, "args", "env"); err != nil {
		return err
	}
	l := &line{args: []string{p.name}}
	if err := l.readTexts(at.key("args"), server.Get("args")); err != nil {
		return err
	}
	env, err := readVariables(at.key("env"), server.Get("env"), nil)
	if err != nil {
		return err
	}
	command, err := l.with(env)
	p.server = &command
	return err
}

// readTexts appends the arguments of a server.
func (l *line) readTexts(at place, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	items, err := jsonraw.Elements(raw)
	switch {
	case err != nil:
		return at.fail("args is a list: one entry for each argument")
	case len(items) > maxArgs:
		return at.fail("args has over %d entries", maxArgs)
	}
	for i, item := range items {
		at := at.index(i)
		text, err := at.text(item, maxText)
		if err != nil {
			return err
		}
		if _, is := secretIn(text); is {
			return at.fail("a secret is no argument: write it into env")
		}
		if text, err = literal(at, text); err != nil {
			return at.fail("an argument of a server is a text: a brace in it is doubled, {{ or }}")
		}
		if err := l.add("", text); err != nil {
			return at.fail("%v", err)
		}
	}
	return nil
}
