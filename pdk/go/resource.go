package sallyport

import (
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/uritemplate"
)

// Vars are the decoded variables of a URI template.
type Vars = uritemplate.Vars

// Resource makes a resource from a function. The result depends on R: a string is a text, []byte is a blob,
// [Contents] and []Contents are complete contents, and any other type is encoded as JSON. An error is an MCP error.
// [NotFound], and also fs.ErrNotExist, report that the resource does not exist.
func Resource[R any](uri, name, description string, f func(c *Call) (R, error), options ...Option) Item {
	d := newResource(kindResource, uri, name, description)
	d.warmEncoder = warmEncoder[R]
	d.serve = func(c *Call) ([]byte, error) {
		r, err := f(c)
		if err != nil {
			return nil, err
		}
		return contentsJSON(d, c.params.URI, r)
	}
	d.with(options)
	return itemFunc(func(p *Plugin) { add(&p.resources, d) })
}

// Template makes a family of resources with URIs that match a template of RFC 6570: {x} is one path segment, {+x} may
// contain slashes, and {?x,y} are query parameters. The template begins with a literal scheme. See [Resource] for R.
// An exact resource takes precedence over a template, and an earlier template over a later one.
func Template[R any](uriTemplate, name, description string, f func(c *Call, v Vars) (R, error), options ...Option) Item {
	d := newResource(kindTemplate, uriTemplate, name, description)
	d.warmEncoder = warmEncoder[R]
	d.template = uritemplate.Must(uriTemplate)
	d.serve = func(c *Call) ([]byte, error) {
		v, _ := d.template.Match(c.params.URI)
		r, err := f(c, v)
		if err != nil {
			return nil, err
		}
		return contentsJSON(d, c.params.URI, r)
	}
	d.with(options)
	return itemFunc(func(p *Plugin) { add(&p.templates, d) })
}

func newResource(k kind, key, name, description string) *definition {
	return &definition{kind: k, key: key, name: name, description: description}
}

func (p *Plugin) readResource(c *Call) ([]byte, error) {
	if d := find(p.resources, c.params.URI); d != nil {
		return d.serve(c)
	}
	for _, d := range p.templates {
		if _, ok := d.template.Match(c.params.URI); ok {
			return d.serve(c)
		}
	}
	return nil, NotFound(c.params.URI)
}

// contentsJSON encodes the return value of a resource's function as the result.
func contentsJSON(d *definition, uri string, v any) ([]byte, error) {
	var all []Contents
	switch v := v.(type) {
	case string:
		all = []Contents{{Text: v}}
	case []byte:
		all = []Contents{{Blob: nonNil(v)}}
	case Contents:
		all = []Contents{v}
	case []Contents:
		all = append(all, v...)
	default:
		raw, err := jsontext.Marshal(v)
		if err != nil {
			return nil, err
		}
		all = []Contents{{Text: string(raw)}}
	}
	for i := range all {
		all[i].fill(uri, d.mimeType)
	}
	return contentsResult(all)
}

func contentsResult(all []Contents) ([]byte, error) {
	if all == nil {
		all = []Contents{}
	}
	var o jsontext.Object
	err := o.Value("contents", all)
	return o.Bytes(), err
}

func (c *Contents) fill(uri, mimeType string) {
	if c.URI == "" {
		c.URI = uri
	}
	if c.MIMEType == "" {
		c.MIMEType = mimeType
	}
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
