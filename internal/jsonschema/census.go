package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// baseURL is the base URI of a schema without an $id. Nothing can be loaded from it.
const baseURL = "schema:///"

// problem is a problem of a schema, with its position.
type problem struct {
	Pointer string // JSON Pointer into the schema; "" is the whole
	Text    string
}

// Error returns the pointer and the text.
func (p *problem) Error() string { return p.Pointer + ": " + p.Text }

// census is the result of a scan.
type census struct {
	Root    any      // decoded schema with numbers as json.Number and counts up to 2^31-1
	IDs     []string // JSON Pointers of the schemas with an $id
	Anchors []string // of those with a $dynamicAnchor

	path       []string // current position
	err        error    // first problem, which ends the walk
	subschemas int
	bases      map[string]bool // URLs of the document and of each $id in it
	refs       []reference
}

// takeCensus decodes and scans a schema. The error is a *problem, or wraps a *jsonraw.SyntaxError if raw is not JSON.
func takeCensus(raw json.RawMessage) (*census, error) {
	if len(raw) > maxBytes {
		return nil, &problem{"", fmt.Sprintf("%d bytes, but at most %d are allowed", len(raw), maxBytes)}
	}
	if err := jsonraw.Valid(raw); err != nil {
		return nil, err
	}
	c := &census{bases: map[string]bool{baseURL: true}}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&c.Root); err != nil {
		return nil, err
	}
	base, _ := url.Parse(baseURL)
	c.data(c.Root)
	c.schema(c.Root, base, 1)
	c.references()
	if c.err != nil {
		return nil, c.err
	}
	return c, nil
}

// reference is a $ref and its target URL.
type reference struct{ pointer, text, target string }

func (c *census) pointer() string {
	var p strings.Builder
	for _, key := range c.path {
		p.WriteByte('/')
		p.WriteString(jsonraw.EscapePointer(key))
	}
	return p.String()
}

func (c *census) refuse(format string, args ...any) {
	if c.err == nil {
		c.err = &problem{c.pointer(), fmt.Sprintf(format, args...)}
	}
}

// in runs f with key added to the path.
func (c *census) in(key string, f func()) {
	if c.err != nil {
		return
	}
	c.path = append(c.path, key)
	f()
	c.path = c.path[:len(c.path)-1]
}

// schema walks a schema at nesting depth.
func (c *census) schema(v any, base *url.URL, depth int) {
	if c.subschemas++; c.subschemas > maxSubschemas {
		c.refuse("more than %d subschemas", maxSubschemas)
	}
	if depth > maxDepth {
		c.refuse("subschemas nested deeper than %d", maxDepth)
	}
	o, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); !ok && depth == 1 {
			c.refuse("a schema must be an object or a boolean")
		}
		return
	}
	base = c.identity(o, base, depth)
	for _, key := range keys(o) {
		c.in(key, func() { c.keyword(o, key, base, depth+1) })
	}
}

// identity reads the naming keywords of a schema and returns the base URL for its references.
func (c *census) identity(o map[string]any, base *url.URL, depth int) *url.URL {
	id := c.id(o)
	if id != "" {
		c.IDs = append(c.IDs, c.pointer())
		if len(c.IDs) > maxResources {
			c.refuse("more than %d schemas with an $id", maxResources)
		}
	}
	if stringIn(o, "$dynamicAnchor") != "" {
		c.Anchors = append(c.Anchors, c.pointer())
	}
	if dialect := stringIn(o, "$schema"); dialect != "" && (id != "" || depth == 1) && !isDialect(dialect) {
		c.refuse("unknown dialect %q", dialect)
	}
	if resolved, err := base.Parse(id); id != "" && err == nil {
		base = resolved
		c.bases[withoutFragment(base)] = true
	}
	return base
}

// id returns the declared id of o. Only in draft-04 the keyword has no dollar; elsewhere "id" is an annotation.
func (c *census) id(o map[string]any) string {
	if id := stringIn(o, "$id"); id != "" {
		return id
	}
	root, _ := c.Root.(map[string]any)
	if strings.Contains(stringIn(root, "$schema")+stringIn(o, "$schema"), "draft-04") {
		return stringIn(o, "id")
	}
	return ""
}

// keyword walks the value of one keyword.
func (c *census) keyword(o map[string]any, key string, base *url.URL, depth int) {
	v := o[key]
	switch keywords[key] {
	case oneSchema:
		c.schema(v, base, depth)
	case schemaList:
		c.list(v, base, depth)
	case schemaOrArr:
		if _, ok := v.([]any); ok {
			c.list(v, base, depth)
		} else {
			c.schema(v, base, depth)
		}
	case schemaMap:
		c.members(v, base, depth)
	case counted:
		if n, ok := v.(json.Number); ok {
			o[key] = cutCount(n)
		}
	default:
		c.reference(key, v, base)
	}
}

func (c *census) list(v any, base *url.URL, depth int) {
	items, _ := v.([]any)
	for i, item := range items {
		c.in(strconv.Itoa(i), func() { c.schema(item, base, depth) })
	}
}

// members walks an object of schemas. In dependencies it may contain arrays.
func (c *census) members(v any, base *url.URL, depth int) {
	o, _ := v.(map[string]any)
	for _, key := range keys(o) {
		if _, ok := o[key].([]any); !ok {
			c.in(key, func() { c.schema(o[key], base, depth) })
		}
	}
}

func (c *census) reference(key string, v any, base *url.URL) {
	text, ok := v.(string)
	if !ok || key != "$ref" && key != "$dynamicRef" && key != "$recursiveRef" {
		return
	}
	target, err := base.Parse(text)
	if err != nil {
		c.refuse("%q is no reference", sanitize.Cut(text, maxPath))
		return
	}
	c.refs = append(c.refs, reference{c.pointer(), text, withoutFragment(target)})
}

// references refuses external references, once all names are known.
func (c *census) references() {
	for _, r := range c.refs {
		if c.err == nil && !c.bases[r.target] && !isDialectPart(r.target) {
			c.err = &problem{r.pointer, fmt.Sprintf("external reference %q is not loaded", sanitize.Cut(r.text, maxPath))}
		}
	}
}

// maxPath is the maximum length of a text quoted in an error, in bytes.
const maxPath = 64

func withoutFragment(u *url.URL) string {
	text, _, _ := strings.Cut(u.String(), "#")
	return text
}

func stringIn(o map[string]any, key string) string {
	s, _ := o[key].(string)
	return s
}

// keys returns the sorted keys, so that the reported problem is deterministic.
func keys(o map[string]any) []string {
	list := make([]string, 0, len(o))
	for key := range o {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}
