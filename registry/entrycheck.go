package registry

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/schema"
)

// entryCheck reads one entry of a manifest. What it cannot be published with makes it bad; what can
// be taken out without harm is taken out. Both are named in problems.
type entryCheck struct {
	declared
	what     string // how problems name the entry
	problems []string
	bad      bool
}

// read splits the entry and finds what identifies it.
func (c *entryCheck) read(raw json.RawMessage, idKey string) {
	if len(raw) > maxDefinition {
		c.refuse("is over %d KiB", maxDefinition>>10)
		return
	}
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		c.refuse("%v", err)
		return
	}
	if path, found := rawjson.DuplicateKey(raw); found {
		c.refuse("has the key %s twice", path)
		return
	}
	c.members = o
	id, ok := rawjson.String(o.Get(idKey))
	if !ok || id == "" || len(id) > maxLocalName || hasControl(id) {
		c.refuse("%s is not a string of 1 to %d bytes without control characters", idKey, maxLocalName)
		return
	}
	c.id, c.what = id, fmt.Sprintf("%s %q", kindOf(c.what), id)
}

// run applies the checks that every entry has, then its kind's.
func (c *entryCheck) run(kind func(*entryCheck)) {
	if c.bad {
		return
	}
	for _, key := range []string{"title", "description"} {
		if raw := c.members.Get(key); !rawjson.IsNull(raw) {
			if _, ok := rawjson.String(raw); !ok {
				c.refuse("%s is not a string", key)
			}
		}
	}
	c.takeHidden()
	c.cleanMeta()
	c.cleanIcons()
	kind(c)
}

// takeHidden reads "hidden", which is between plugin and host.
func (c *entryCheck) takeHidden() {
	switch raw := c.members.Get("hidden"); string(raw) {
	case "", "null", "false":
	case "true":
		c.hidden = true
	default:
		c.refuse("hidden is neither true nor false")
	}
	c.members.Delete("hidden")
}

// checkSchema refuses what is too large, too deep or not a schema.
func (c *entryCheck) checkSchema(key string, raw json.RawMessage) {
	if err := schema.Check(raw); err != nil {
		c.refuse("%s: %v", key, err)
	}
}

func (c *entryCheck) refuse(format string, args ...any) {
	c.bad = true
	c.problems = append(c.problems, c.what+" is left out: "+fmt.Sprintf(format, args...))
}

func (c *entryCheck) warn(format string, args ...any) {
	c.problems = append(c.problems, c.what+": "+fmt.Sprintf(format, args...))
}

// kindOf turns tools[3] into tool.
func kindOf(what string) string {
	kind, _, _ := strings.Cut(what, "[")
	switch kind {
	case "resourceTemplates":
		return "resource template"
	default:
		return strings.TrimSuffix(kind, "s")
	}
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func checkTool(c *entryCheck) {
	input := c.members.Get("inputSchema")
	if rawjson.IsNull(input) {
		c.refuse(`inputSchema is missing; a tool without arguments has {"type":"object"}`)
		return
	}
	if kind, _ := rawjson.String(rawjson.Get(input, "type")); kind != "object" {
		c.refuse(`inputSchema does not have "type":"object" at its root`)
		return
	}
	c.checkSchema("inputSchema", input)
	if output := c.members.Get("outputSchema"); !rawjson.IsNull(output) {
		c.checkSchema("outputSchema", output)
	}
	c.checkObject("annotations")
	if c.bad {
		return // the schema may be deeper than is good to walk through
	}
	if err := checkHeaders(input); err != nil {
		c.refuse("inputSchema: %v", err)
	}
}

// checkObject refuses a member that is there and no object.
func (c *entryCheck) checkObject(key string) {
	raw := c.members.Get(key)
	if rawjson.IsNull(raw) {
		return
	}
	if _, err := rawjson.ParseObject(raw); err != nil {
		c.refuse("%s is not an object", key)
	}
}

func checkPrompt(c *entryCheck) {
	raw := c.members.Get("arguments")
	if rawjson.IsNull(raw) {
		return
	}
	arguments, err := rawjson.Elements(raw)
	if err != nil {
		c.refuse("arguments is not an array")
		return
	}
	seen := map[string]bool{}
	for _, a := range arguments {
		name, ok := rawjson.String(rawjson.Get(a, "name"))
		if !ok || name == "" || seen[name] {
			c.refuse("arguments need a name each, and no two the same")
			return
		}
		seen[name] = true
	}
}

func checkResource(c *entryCheck) {
	u, err := url.Parse(c.id)
	if err != nil || u.Scheme == "" || strings.ContainsAny(c.id, " \"<>\\^`{|}") || len(c.id) > maxURI {
		c.refuse("not an absolute URI")
		return
	}
	c.checkName()
	c.checkScheme(u.Scheme)
}

func checkTemplate(c *entryCheck) {
	t, err := ParseURITemplate(c.id)
	if err != nil {
		c.refuse("%v", err)
		return
	}
	scheme, ok := literalOrigin(t)
	if !ok {
		c.refuse("a template begins with a literal scheme and authority, such as notes://work/{id}")
		return
	}
	c.pattern = t
	c.checkName()
	c.checkScheme(scheme)
}

// checkName wants the name that MCP asks of resources and templates.
func (c *entryCheck) checkName() {
	if name, ok := rawjson.String(c.members.Get("name")); !ok || name == "" {
		c.refuse("name is missing")
	}
}

// checkScheme keeps the host's own scheme to the host.
func (c *entryCheck) checkScheme(scheme string) {
	if strings.EqualFold(scheme, builtinScheme) {
		c.refuse("%s: is the host's own", builtinScheme)
	}
}

// literalOrigin returns the scheme of a template whose scheme and authority are literal and ended.
func literalOrigin(t *URITemplate) (scheme string, ok bool) {
	scheme, rest, ok := strings.Cut(t.Prefix(), "://")
	if !ok || !isScheme(scheme) {
		return "", false
	}
	if strings.ContainsAny(rest, "/?#") || len(t.vars) == 0 {
		return scheme, true
	}
	next := t.text[len(t.prefix):]
	return scheme, len(next) > 1 && strings.ContainsRune("/?#", rune(next[1])) && rest != ""
}

// isScheme reports whether s is a scheme of RFC 3986 §3.1.
func isScheme(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || !isAlphanumeric(r) && !strings.ContainsRune("+-.", r)) {
			return false
		}
	}
	return s != ""
}
