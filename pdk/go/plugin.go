package sallyport

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Plugin is the content of one module: its tools, resources, prompts and wants. [New] makes it, and it is immutable
// afterwards.
type Plugin struct {
	name, version, description string

	state     string
	wants     [][]byte
	tools     []*definition
	resources []*definition
	templates []*definition
	prompts   []*definition
	warmUps   []func()
}

// Item is a component of a plugin: a [Tool], [Resource], [Template], [Prompt], [Want], [Description] or [State].
type Item interface{ addTo(p *Plugin) }

type itemFunc func(p *Plugin)

func (f itemFunc) addTo(p *Plugin) { f(p) }

// New makes a plugin. name and version are labels: the operator chooses the published name. New panics on errors in
// the plugin's source, such as two tools with one name or an invalid schema tag.
func New(name, version string, items ...Item) *Plugin {
	p := &Plugin{name: name, version: version}
	for _, i := range items {
		i.addTo(p)
	}
	return p
}

// Serve makes the plugin the one that this module serves. It must be called once, in init. Outside of a module it
// does nothing.
func (p *Plugin) Serve() { serve(p) }

// Description sets a description of the plugin in one or two sentences.
func Description(text string) Item {
	return itemFunc(func(p *Plugin) { p.description = text })
}

// Want declares a grant that the plugin needs, and the reason in one sentence for the operator. family is a family of
// the grant language (net, fs, config, …). grant is a line of it, or any value that encodes to the JSON of the
// family:
//
//	sallyport.Want("net", "GET https://api.example.com/**", "reads the forecast")
//
// A want alone grants nothing.
func Want(family string, grant any, why string) Item {
	var o jsontext.Object
	if err := o.Value(family, grant); err != nil {
		panic("sallyport: want " + family + ": " + err.Error())
	}
	o.Optional("why", why)
	return itemFunc(func(p *Plugin) { p.wants = append(p.wants, o.Bytes()) })
}

// State requests a lifetime of instances: "call" (one call, the default), "session" (one caller) or "plugin" (all
// callers). The operator decides.
func State(state string) Item {
	return itemFunc(func(p *Plugin) { p.state = state })
}

// add adds a definition to a list. A duplicate key panics.
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

// manifest is the result of plugin/describe, in the order of the items of New.
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
