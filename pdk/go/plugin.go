package sallyport

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Plugin is what one module gives: its tools, resources, prompts and wants. Make it with [New].
// After that it does not change.
type Plugin struct {
	name, version, description string

	state     string
	wants     [][]byte
	tools     []*definition
	resources []*definition
	templates []*definition
	prompts   []*definition
}

// Item is something that a plugin has: a [Tool], [Resource], [Template], [Prompt], [Want],
// [Description] or [State].
type Item interface{ addTo(p *Plugin) }

type itemFunc func(p *Plugin)

func (f itemFunc) addTo(p *Plugin) { f(p) }

// New makes a plugin. Name and version are labels: the operator decides under which name the plugin is
// published. New panics on what can only be a mistake in the plugin's own text, such as two tools of
// one name or a schema tag that cannot be read.
func New(name, version string, items ...Item) *Plugin {
	p := &Plugin{name: name, version: version}
	for _, i := range items {
		i.addTo(p)
	}
	return p
}

// Serve makes the plugin the one that this module serves. Call it once, in init. Outside a module it
// does nothing.
func (p *Plugin) Serve() { serve(p) }

// Description says in a sentence or two what the plugin is for.
func Description(text string) Item {
	return itemFunc(func(p *Plugin) { p.description = text })
}

// Want names a grant that the plugin would like and why, one sentence for the operator. Family is a
// family of the grant language (net, fs, config, …), grant its line, or any value that encodes to the
// JSON the family takes:
//
//	sallyport.Want("net", "GET https://api.example.com/**", "reads the forecast")
//
// A want gives nothing by itself.
func Want(family string, grant any, why string) Item {
	var o jsontext.Object
	if err := o.Value(family, grant); err != nil {
		panic("sallyport: want " + family + ": " + err.Error())
	}
	o.Optional("why", why)
	return itemFunc(func(p *Plugin) { p.wants = append(p.wants, o.Bytes()) })
}

// State asks for how long an instance lives: "call" (one call, the default), "session" (one caller) or
// "plugin" (all callers). The operator has the last word.
func State(state string) Item {
	return itemFunc(func(p *Plugin) { p.state = state })
}

// add adds a definition to a list, which may not have one of its key yet.
func add(list *[]*definition, d *definition) {
	if find(*list, d.key) != nil {
		panic("sallyport: " + d.kind.String() + " " + d.key + " is there twice")
	}
	*list = append(*list, d)
}

func find(list []*definition, key string) *definition {
	i := slices.IndexFunc(list, func(d *definition) bool { return d.key == key })
	if i < 0 {
		return nil
	}
	return list[i]
}

// manifest is the answer to plugin/describe: everything in the order in which it was given to New.
func (p *Plugin) manifest() []byte {
	var o jsontext.Object
	o.Text("name", p.name)
	o.Text("version", p.version)
	o.Optional("description", p.description)
	o.Raw("tools", p.list(p.tools))
	o.Raw("resources", p.list(p.resources))
	o.Raw("resourceTemplates", p.list(p.templates))
	o.Raw("prompts", p.list(p.prompts))
	o.Raw("wants", jsontext.Array(p.wants))
	o.Optional("state", p.state)
	return o.Bytes()
}

func (p *Plugin) list(all []*definition) []byte {
	out := make([][]byte, len(all))
	for i, d := range all {
		out[i] = d.json()
	}
	return jsontext.Array(out)
}
