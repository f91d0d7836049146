package ask

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
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
	elicitation, sampling := rawjson.Get(raw, "elicitation"), rawjson.Get(raw, "sampling")
	if rawjson.IsObject(elicitation) {
		c.url = rawjson.IsObject(rawjson.Get(elicitation, "url"))
		c.form = !c.url || rawjson.IsObject(rawjson.Get(elicitation, "form"))
	}
	if c.sampling = rawjson.IsObject(sampling); c.sampling {
		c.samplingTools = rawjson.IsObject(rawjson.Get(sampling, "tools"))
		c.context = rawjson.IsObject(rawjson.Get(sampling, "context"))
	}
	c.roots = rawjson.IsObject(rawjson.Get(raw, "roots"))
	return c
}

// Object returns the ClientCapabilities object of these capabilities.
func (c Abilities) Object() json.RawMessage {
	modes := func(list map[string]bool) json.RawMessage {
		var o rawjson.Object
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if list[name] {
				o.Set(name, json.RawMessage("{}"))
			}
		}
		return o.Append(nil)
	}
	var o rawjson.Object
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
		if mode, _ := rawjson.String(rawjson.Get(q.Params, "mode")); mode == "url" {
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
		if !c.samplingTools && (rawjson.Get(q.Params, "tools") != nil || rawjson.Get(q.Params, "toolChoice") != nil) {
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
	o, err := rawjson.ParseObject(q.Params)
	if err != nil {
		return q.Params
	}
	if q.Method == "sampling/createMessage" && !c.context {
		o.Delete("includeContext")
	}
	if q.Method == "elicitation/create" && version != "" && version < era.V20251125 {
		o.Delete("mode") // older versions have no mode
		if form := o.Get("requestedSchema"); form != nil {
			o.Set("requestedSchema", fitForm(form))
		}
	}
	return o.Append(nil)
}
