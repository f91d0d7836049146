package result

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
)

// Promise is the declared output of a tool, implemented by *catalog.Tool.
type Promise interface {
	// Output returns the schema of structured content, nil if there is none.
	Output() (*jsonschema.Schema, error)
}

// Cleaning counts the invisible characters of an answer.
type Cleaning struct {
	Removed int // removed from texts
	Hidden  int // left in structured content and resources, which are never edited
}

// Tool parses the answer to tools/call and validates its structured content by the declared output schema.
func Tool(raw json.RawMessage, p Promise) (jsonraw.Object, Cleaning, error) {
	o, err := checkTool(raw, p)
	if err != nil {
		return nil, Cleaning{}, err
	}
	c := Cleaning{Removed: ownMembers(&o), Hidden: sanitize.Count(o.Get("structuredContent"))}
	removed, hidden := cleanContent(&o)
	c.Removed, c.Hidden = c.Removed+removed, c.Hidden+hidden
	untrusted.StripMeta(&o)
	untrusted.StripMetaBelow(&o, "content")
	return o, c, nil
}

func checkTool(raw json.RawMessage, p Promise) (jsonraw.Object, error) {
	o, err := parse(raw)
	if err != nil {
		return nil, err
	}
	isError, structured := o.Get("isError"), o.Get("structuredContent")
	if isError != nil && string(isError) != "true" && string(isError) != "false" {
		return nil, misshapen("isError must be a boolean")
	}
	if o.Get("content") != nil {
		err = eachObject(o, "content", checkContent)
	} else if structured == nil {
		err = misshapen("it has neither content nor structuredContent")
	}
	if err != nil || Failed(o) {
		return o, err
	}
	return o, checkStructured(p, structured)
}

// Failed reports whether a result has isError set.
func Failed(o jsonraw.Object) bool { return string(o.Get("isError")) == "true" }

// checkStructured validates structured content by the declared output schema.
func checkStructured(p Promise, structured json.RawMessage) error {
	output, err := p.Output()
	switch {
	case err != nil:
		return misshapen("its output schema cannot be used: %v", err)
	case output == nil:
		return nil
	case structured == nil:
		return misshapen("the tool has an output schema, but the answer has no structuredContent")
	}
	if err := output.Validate(structured); err != nil {
		return misshapen("structuredContent does not match the output schema: %v", err)
	}
	return nil
}

// Readable adds structured content as text for clients that may not support it. Older clients support only objects;
// for them other values are removed.
func Readable(o *jsonraw.Object, older bool) {
	structured := o.Get("structuredContent")
	if structured == nil {
		return
	}
	object := jsonraw.IsObject(structured)
	if content := o.Get("content"); content == nil || !object && !hasText(content, structured) {
		Add(o, Text(string(structured)))
	}
	if older && !object {
		o.Delete("structuredContent")
	}
}

// hasText reports whether one of the text blocks is exactly this value.
func hasText(content, value json.RawMessage) bool {
	s := jsonraw.ScanArray(content)
	for s.Next() {
		if text, ok := jsonraw.String(jsonraw.Get(s.Value, "text")); ok && text == string(value) {
			return true
		}
	}
	return false
}
