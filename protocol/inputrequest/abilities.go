package inputrequest

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Abilities are a client's declared capabilities for questions: from initialize in a legacy session, from each
// request in the modern era.
type Abilities struct {
	form, url     bool // elicitation
	sampling      bool
	samplingTools bool
	context       bool // sampling with the context of servers
	roots         bool
}

// Declared parses ClientCapabilities. elicitation without a mode means forms.
func Declared(raw json.RawMessage) (c Abilities) {
	elicitation, sampling := jsonraw.Get(raw, "elicitation"), jsonraw.Get(raw, "sampling")
	if jsonraw.IsObject(elicitation) {
		c.url = jsonraw.IsObject(jsonraw.Get(elicitation, "url"))
		c.form = !c.url || jsonraw.IsObject(jsonraw.Get(elicitation, "form"))
	}
	if c.sampling = jsonraw.IsObject(sampling); c.sampling {
		c.samplingTools = jsonraw.IsObject(jsonraw.Get(sampling, "tools"))
		c.context = jsonraw.IsObject(jsonraw.Get(sampling, "context"))
	}
	c.roots = jsonraw.IsObject(jsonraw.Get(raw, "roots"))
	return c
}

// Object returns the ClientCapabilities object of these capabilities.
func (c Abilities) Object() json.RawMessage {
	modes := func(list map[string]bool) json.RawMessage {
		var o jsonraw.Object
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if list[name] {
				o.Set(name, json.RawMessage("{}"))
			}
		}
		return o.Append(nil)
	}
	var o jsonraw.Object
	if c.form || c.url {
		o.Set("elicitation", modes(map[string]bool{"form": c.form, "url": c.url}))
	}
	if c.sampling {
		o.Set("sampling", modes(map[string]bool{"tools": c.samplingTools, "context": c.context}))
	}
	if c.roots {
		o.Set("roots", json.RawMessage("{}"))
	}
	return o.Append(nil)
}

// lacks returns the capability that the client lacks for q, as a ClientCapabilities object and as a name for
// messages. It is nil if the client declared it.
func (c Abilities) lacks(q runtime.Question) (required json.RawMessage, name string) {
	switch q.Method {
	case "elicitation/create":
		if mode, _ := jsonraw.String(jsonraw.Get(q.Params, "mode")); mode == "url" {
			if !c.url {
				return json.RawMessage(`{"elicitation":{"url":{}}}`), "elicitation of mode url"
			}
		} else if !c.form {
			return json.RawMessage(`{"elicitation":{"form":{}}}`), "elicitation"
		}
	case "sampling/createMessage":
		if !c.sampling {
			return json.RawMessage(`{"sampling":{}}`), "sampling"
		}
		if !c.samplingTools && (jsonraw.Get(q.Params, "tools") != nil || jsonraw.Get(q.Params, "toolChoice") != nil) {
			return json.RawMessage(`{"sampling":{"tools":{}}}`), "sampling with tools"
		}
	case "roots/list":
		if !c.roots {
			return json.RawMessage(`{"roots":{}}`), "roots"
		}
	}
	return nil, ""
}

// Undeclared returns the error for a question that needs an undeclared capability, else nil.
func (c Abilities) Undeclared(q runtime.Question) *runtime.AskError {
	required, name := c.lacks(q)
	if required == nil {
		return nil
	}
	return &runtime.AskError{Kind: runtime.KindUnsupported, Message: "the client does not declare " + name, Requires: required}
}

// Fit removes from a question everything unknown to this client or version. version is that of a legacy session,
// else "".
func (c Abilities) Fit(q runtime.Question, version string) json.RawMessage {
	o, err := jsonraw.ParseObject(q.Params)
	if err != nil {
		return q.Params
	}
	if q.Method == "sampling/createMessage" && !c.context {
		o.Delete("includeContext")
	}
	if q.Method == "elicitation/create" && version != "" && version < envelope.V20251125 {
		o.Delete("mode") // older versions have no mode
		if form := o.Get("requestedSchema"); form != nil {
			o.Set("requestedSchema", fitForm(form))
		}
	}
	return o.Append(nil)
}
