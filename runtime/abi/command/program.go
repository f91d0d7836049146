package command

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

const (
	// Section is the custom section that holds the tool file, as JSON.
	Section = wasmbin.CommandSection
	// MaxSize limits a tool file, in bytes.
	MaxSize = 1 << 20
	// maxTools limits the tools of one program.
	maxTools = 256
	// maxName limits the name of the program, in bytes.
	maxName = 255
)

// Program is a checked tool file. It is immutable.
type Program struct {
	name   string // argv[0]; "" is the name of the plugin's file
	tools  map[string]*tool
	server *runtime.CommandLine // of a whole MCP server, which has no tools here
	lists  json.RawMessage      // its manifest

	continues   bool    // the module can go on in a copy that waits for input
	initializes bool    // and in one that reads its clock
	stack       uint32  // the end of the stack that it starts on
	traces      *traces // of the module
}

// Parse checks a tool file in JSON. The error is a *Problem if it is about one value.
func Parse(raw []byte) (*Program, error) {
	if len(raw) > MaxSize {
		return nil, fmt.Errorf("the tool file is over %d MiB", MaxSize>>20)
	}
	if err := jsonraw.Valid(raw); err != nil {
		return nil, err
	}
	if key, twice := jsonraw.DuplicateKey(raw); twice {
		return nil, fmt.Errorf("the key %s is there twice", clip(key))
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, errors.New("a tool file has keys and values: write tools: and below it - name: NAME")
	}
	var root place
	if err := root.keys(o, "tools", serverKey, "program", "name", "version", "description", "wants"); err != nil {
		return nil, err
	}
	p := &Program{tools: map[string]*tool{}}
	if p.name, err = root.key("program").text(o.Get("program"), maxName); err != nil {
		return nil, err
	}
	if o.Get(serverKey) != nil {
		err = p.readServer(root.key(serverKey), o)
		if server, _ := jsonraw.ParseObject(o.Get(serverKey)); err == nil && p.name != "" { // many a program does something else under another name
			server.Set("program", jsonraw.AppendString(nil, p.name))
			o.Set(serverKey, server.Append(nil))
		}
	} else {
		var definitions []json.RawMessage
		definitions, err = p.readTools(root.key("tools"), o.Get("tools"))
		o.Set("tools", jsonraw.Array(definitions))
	}
	if err != nil {
		return nil, err
	}
	o.Delete("program")
	o.Set("state", json.RawMessage(`"call"`))
	p.lists = o.Append(nil)
	return p, nil
}

// readTools parses the tools, and returns their definitions for clients.
func (p *Program) readTools(at place, raw json.RawMessage) (definitions []json.RawMessage, err error) {
	list, err := jsonraw.Elements(raw)
	switch {
	case jsonraw.IsNull(raw) || err == nil && len(list) == 0:
		return nil, at.fail("the file has no tools: write tools: and below it - name: NAME, or server: {args: [ARGUMENT]} for an MCP server")
	case err != nil:
		return nil, at.fail("tools is a list: write - name: NAME for each")
	case len(list) > maxTools:
		return nil, at.fail("there are %d tools, at most %d are allowed", len(list), maxTools)
	}
	for i, raw := range list {
		t, definition, err := parseTool(at.index(i), raw, p.name)
		if err != nil {
			return nil, err
		}
		if p.tools[t.name] != nil {
			return nil, at.index(i).key("name").fail("there is a tool %q already", clip(t.name))
		}
		p.tools[t.name] = t
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

// Manifest returns the manifest of the program: the tools as MCP defines them, without their command lines. That of a
// server has its command line, and not its lists, which it has to be asked for.
func (p *Program) Manifest() json.RawMessage { return p.lists }

// text returns an optional text.
func (p place) text(raw json.RawMessage, most int) (string, error) {
	if raw == nil {
		return "", nil
	}
	s, ok := jsonraw.String(raw)
	switch {
	case !ok:
		return "", p.fail("this is a text: write it in quotes")
	case len(s) > most:
		return "", p.fail("this text has %d bytes, at most %d are allowed", len(s), most)
	case hasNUL(s):
		return "", p.fail("a NUL byte cannot be passed to a program")
	}
	return s, nil
}
