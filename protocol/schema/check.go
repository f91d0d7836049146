package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// Check looks at a schema without compiling it: size, depth, number of subschemas, dialect, and
// references that leave the document. What it lets through may still fail to compile. The error
// is a *SchemaError, or a *rawjson.SyntaxError if raw is not JSON.
func Check(raw json.RawMessage) error {
	_, err := check(raw)
	return err
}

// check returns the decoded schema, made safe for the library.
func check(raw json.RawMessage) (*census, error) {
	if len(raw) > maxBytes {
		return nil, &SchemaError{"", fmt.Sprintf("%d bytes, but at most %d are allowed", len(raw), maxBytes)}
	}
	if err := rawjson.Valid(raw); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := &census{bases: map[string]bool{baseURL: true}}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&c.root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	base, _ := url.Parse(baseURL)
	c.data(c.root)
	c.schema(c.root, base, 1)
	c.references()
	return c, c.err
}

// census goes once through a decoded schema.
type census struct {
	root       any
	path       []string // where the walk is
	err        error    // the first problem; the walk ends there
	subschemas int
	bases      map[string]bool // the URL of the document and of each $id in it
	ids        []string        // pointers of the schemas that have an $id
	anchors    []string        // pointers of the schemas that have a $dynamicAnchor
	refs       []reference
}

// reference is a $ref and the URL it leads to.
type reference struct{ pointer, text, target string }

func (c *census) pointer() string {
	var p strings.Builder
	for _, key := range c.path {
		p.WriteByte('/')
		p.WriteString(rawjson.EscapePointer(key))
	}
	return p.String()
}

func (c *census) refuse(format string, args ...any) {
	if c.err == nil {
		c.err = &SchemaError{c.pointer(), fmt.Sprintf(format, args...)}
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

// data looks at all of the document for what the library cannot bear.
func (c *census) data(v any) {
	switch v := v.(type) {
	case json.Number:
		if !modest(string(v)) {
			c.refuse("a number with more than %d digits", maxDigits)
		}
	case map[string]any:
		for _, key := range keys(v) {
			c.in(key, func() { c.data(v[key]) })
		}
	case []any:
		containers := 0
		for i, item := range v {
			if isContainer(item) {
				containers++
			}
			c.in(strconv.Itoa(i), func() { c.data(item) })
		}
		if containers > maxContainers && !c.holdsSchemas() {
			c.refuse("more than %d arrays and objects in one array", maxContainers)
		}
	}
}

// holdsSchemas reports whether the path ends in a keyword whose array is no data, or is never
// compared.
func (c *census) holdsSchemas() bool {
	if len(c.path) == 0 {
		return false
	}
	last := c.path[len(c.path)-1]
	return keywords[last] == schemaList || last == "items" || last == "examples" || last == "default"
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// modest reports whether a number can be expanded without harm.
func modest(number string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(digits) > maxDigits {
		return false
	}
	if exponent == "" {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e >= -maxDigits && e <= maxDigits
}

// position tells what stands behind a keyword.
type position uint8

const (
	notSchema   position = iota
	oneSchema            // a schema
	schemaList           // an array of schemas
	schemaMap            // an object of schemas
	schemaOrArr          // a schema, or an array of schemas
	counted              // a count
)

// keywords of all dialects together: too many positions only make the bounds a little tighter.
var keywords = map[string]position{
	"not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema, "contains": oneSchema,
	"propertyNames": oneSchema, "additionalProperties": oneSchema, "additionalItems": oneSchema,
	"unevaluatedProperties": oneSchema, "unevaluatedItems": oneSchema, "contentSchema": oneSchema,
	"allOf": schemaList, "anyOf": schemaList, "oneOf": schemaList, "prefixItems": schemaList,
	"items":       schemaOrArr,
	"definitions": schemaMap, "$defs": schemaMap, "properties": schemaMap, "patternProperties": schemaMap,
	"dependentSchemas": schemaMap, "dependencies": schemaMap,
	"minLength": counted, "maxLength": counted, "minItems": counted, "maxItems": counted,
	"minProperties": counted, "maxProperties": counted, "minContains": counted, "maxContains": counted,
}

// schema walks a schema that is the depth-th on its way.
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

// identity reads what names a schema. It returns the base of the references in it.
func (c *census) identity(o map[string]any, base *url.URL, depth int) *url.URL {
	id := c.id(o)
	if id != "" {
		c.ids = append(c.ids, c.pointer())
		if len(c.ids) > maxResources {
			c.refuse("more than %d schemas with an $id", maxResources)
		}
	}
	if stringIn(o, "$dynamicAnchor") != "" {
		c.anchors = append(c.anchors, c.pointer())
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

// id is what the schema o calls itself. In draft-04 the keyword has no dollar; in the others an
// id without one is somebody's annotation.
func (c *census) id(o map[string]any) string {
	if id := stringIn(o, "$id"); id != "" {
		return id
	}
	root, _ := c.root.(map[string]any)
	if strings.Contains(stringIn(root, "$schema")+stringIn(o, "$schema"), "draft-04") {
		return stringIn(o, "id")
	}
	return ""
}

// keyword walks what stands behind one keyword.
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

// members walks an object of schemas. In one of dependencies arrays may stand among them.
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
		c.refuse("%q is no reference", shownString(text))
		return
	}
	c.refs = append(c.refs, reference{c.pointer(), text, withoutFragment(target)})
}

// references refuses those that lead outside, now that all names are known.
func (c *census) references() {
	for _, r := range c.refs {
		if c.err == nil && !c.bases[r.target] && !isDialectPart(r.target) {
			c.err = &SchemaError{r.pointer, fmt.Sprintf("external reference %q is not loaded", shownString(r.text))}
		}
	}
}

func shownString(s string) string { return shown([]byte(s)) }

func withoutFragment(u *url.URL) string {
	text, _, _ := strings.Cut(u.String(), "#")
	return text
}

// isDialect reports whether a $schema names a dialect that is supported.
func isDialect(name string) bool {
	name = strings.TrimSuffix(name, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	return slices.Contains(dialects, name)
}

var dialects = []string{
	"json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema", "json-schema.org/schema",
	"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema",
}

// isDialectPart reports whether a URL may be one of the meta-schemas that the library has in it.
func isDialectPart(u string) bool {
	u = strings.TrimPrefix(strings.TrimPrefix(u, "https://"), "http://")
	return isDialect(u) || strings.HasPrefix(u, "json-schema.org/draft/2020-12/meta/") ||
		strings.HasPrefix(u, "json-schema.org/draft/2019-09/meta/")
}

// cutCount keeps a count within an int: the library would take its low bits.
func cutCount(n json.Number) json.Number {
	r, ok := new(big.Rat).SetString(string(n))
	if ok && r.Cmp(big.NewRat(maxCount, 1)) > 0 {
		return json.Number(strconv.Itoa(maxCount))
	}
	return n
}

func stringIn(o map[string]any, key string) string {
	s, _ := o[key].(string)
	return s
}

// keys are in order, so that of several problems the same is reported each time.
func keys(o map[string]any) []string {
	list := make([]string, 0, len(o))
	for key := range o {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}
