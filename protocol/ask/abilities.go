package ask

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Abilities are what a client declared that it can be asked: of a legacy session in initialize, of
// the modern era in each request.
type Abilities struct {
	form, url     bool // elicitation
	sampling      bool
	samplingTools bool
	context       bool // sampling with the context of servers
	roots         bool
}

// Declared reads ClientCapabilities. elicitation without a mode means forms.
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

// Object is a ClientCapabilities object that declares these.
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

// lacks is what a client would have to declare to be asked q: a ClientCapabilities object, and its name
// for people. It is nil if the client did.
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

// Undeclared is the answer to a question that the client did not declare, nil if it did.
func (c Abilities) Undeclared(q runtime.Question) *runtime.AskError {
	required, name := c.lacks(q)
	if required == nil {
		return nil
	}
	return &runtime.AskError{Kind: runtime.KindUnsupported, Message: "the client does not declare " + name, Requires: required}
}

// Fit takes out of a question what this client, or this version, does not know. Version is that of a legacy session, else
// "".
func (c Abilities) Fit(q runtime.Question, version string) json.RawMessage {
	o, err := rawjson.ParseObject(q.Params)
	if err != nil {
		return q.Params
	}
	if q.Method == "sampling/createMessage" && !c.context {
		o.Delete("includeContext")
	}
	if q.Method == "elicitation/create" && version != "" && version < era.V20251125 {
		o.Delete("mode") // there was none
		if form := o.Get("requestedSchema"); form != nil {
			o.Set("requestedSchema", fitForm(form))
		}
	}
	return o.Append(nil)
}
