package sallyport

import (
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// CompletionFunc returns suggestions for the text that the user has typed so far. [Call.Argument] names the argument,
// [Call.Name] its prompt or [Call.URI] its template, and [Call.Chosen] has the other arguments that are already set. Only
// the first 100 values are sent.
type CompletionFunc func(c *Call, typed string) ([]string, error)

// maxCompletions is the number of values that MCP allows in one response.
const maxCompletions = 100

// Argument returns the name of the argument that is completed, or "" in any other call.
func (c *Call) Argument() string { return c.params.Argument.Name }

// Chosen returns the arguments that are already set while another one is completed.
func (c *Call) Chosen() map[string]string { return c.params.Context.Arguments }

func (p *Plugin) complete(c *Call) ([]byte, error) {
	var d *definition
	switch c.params.Ref.Type {
	case "ref/prompt":
		d = find(p.prompts, c.params.Ref.Name)
	case "ref/resource":
		d = p.findResource(c.params.Ref.URI)
	}
	if d == nil {
		return nil, &Error{Code: CodeInvalidParams, Message: "unknown ref: " + c.params.Ref.Name + c.params.Ref.URI}
	}
	c.params.Name, c.params.URI = c.params.Ref.Name, c.params.Ref.URI
	f := d.completions[c.params.Argument.Name]
	if f == nil {
		return completionJSON(nil)
	}
	values, err := f(c, c.params.Argument.Value)
	if err != nil {
		return nil, err
	}
	return completionJSON(values)
}

func (p *Plugin) findResource(uri string) *definition {
	if d := find(p.templates, uri); d != nil {
		return d
	}
	return find(p.resources, uri)
}

func completionJSON(values []string) ([]byte, error) {
	total := len(values)
	if values == nil {
		values = []string{}
	}
	var inner, o jsontext.Object
	err := inner.Value("values", values[:min(total, maxCompletions)])
	inner.Raw("total", []byte(itoa(int64(total))))
	if total > maxCompletions {
		inner.Raw("hasMore", []byte("true"))
	}
	o.Raw("completion", inner.Bytes())
	return o.Bytes(), err
}
