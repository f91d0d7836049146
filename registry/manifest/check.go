package manifest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/registry/uritemplate"
)

// check validates one entry of a manifest. An entry that cannot be published is bad; members that can be removed safely
// are removed. Both are reported in problems.
type check struct {
	Entry
	kind     Kind
	what     string // names the entry in problems
	problems []string
	bad      bool
}

// read splits the entry into members and sets its ID.
func (c *check) read(raw json.RawMessage, idKey string) {
	if len(raw) > MaxDefinition {
		c.refuse("is over %d KiB", MaxDefinition>>10)
		return
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		c.refuse("%v", err)
		return
	}
	if path, found := jsonraw.DuplicateKey(raw); found {
		c.refuse("has the key %s twice", path)
		return
	}
	c.Members, c.Written = o, raw
	id, ok := jsonraw.String(o.Get(idKey))
	if !ok || id == "" || len(id) > maxLocalName || unseen(id) {
		c.refuse("%s is not a string of 1 to %d bytes without invisible characters", idKey, maxLocalName)
		return
	}
	c.ID, c.what = id, fmt.Sprintf("%s %q", c.kind, id)
}

// run applies the checks of every entry, then those of its kind.
func (c *check) run(own func(*check)) {
	if c.bad {
		return
	}
	for _, key := range []string{"title", "description"} {
		if raw := c.Members.Get(key); !jsonraw.IsNull(raw) {
			if _, ok := jsonraw.String(raw); !ok {
				c.refuse("%s is not a string", key)
			}
		}
	}
	c.Hidden = c.take("hidden")
	c.AsksFirst = c.take("asksFirst")
	c.cleanTexts() // first: a cleaned key of _meta could become a reserved one
	c.cleanMeta()
	c.cleanIcons()
	if !c.bad {
		own(c)
	}
}

// take removes a boolean member that is for the host only, and returns its value.
func (c *check) take(key string) bool {
	raw := c.Members.Get(key)
	c.Members.Delete(key)
	switch string(raw) {
	case "", "null", "false":
	case "true":
		return true
	default:
		c.refuse("%s is neither true nor false", key)
	}
	return false
}

// checkSchema rejects a schema that is too large, too deep or invalid: a tool with it could never be called.
func (c *check) checkSchema(key string, raw json.RawMessage) {
	if err := jsonschema.Valid(raw); err != nil {
		c.refuse("%s: %v", key, err)
	}
}

func (c *check) refuse(format string, args ...any) {
	c.bad = true
	c.problems = append(c.problems, c.what+" is left out: "+fmt.Sprintf(format, args...))
}

func (c *check) warn(format string, args ...any) {
	c.problems = append(c.problems, c.what+": "+fmt.Sprintf(format, args...))
}

// unseen reports whether a name has invisible characters or line ends.
func unseen(name string) bool {
	_, n := sanitize.Text(name)
	return n > 0 || strings.ContainsAny(name, "\n\r\t")
}

func checkTool(c *check) {
	input := c.Members.Get("inputSchema")
	if jsonraw.IsNull(input) {
		c.refuse(`inputSchema is missing; a tool without arguments has {"type":"object"}`)
		return
	}
	if kind, _ := jsonraw.String(jsonraw.Get(input, "type")); kind != "object" {
		c.refuse(`inputSchema does not have "type":"object" at its root`)
		return
	}
	c.checkSchema("inputSchema", input)
	if output := c.Members.Get("outputSchema"); !jsonraw.IsNull(output) {
		c.checkSchema("outputSchema", output)
	}
	c.checkObject("annotations")
	if c.bad {
		return // the schema may be too deep to walk
	}
	headers, err := untrusted.FindHeaderParams(input)
	if err != nil {
		c.refuse("inputSchema: %v", err)
	}
	for _, h := range headers {
		if name := strings.Join(h.Path, "."); untrusted.NamesSecret(name) || untrusted.NamesSecret(h.Header) {
			c.warn("argument %q looks like a secret, and x-mcp-header has it repeated in a header, which proxies log", name)
		}
	}
}

// checkObject rejects a member that is present and not an object.
func (c *check) checkObject(key string) {
	raw := c.Members.Get(key)
	if jsonraw.IsNull(raw) {
		return
	}
	if _, err := jsonraw.ParseObject(raw); err != nil {
		c.refuse("%s is not an object", key)
	}
}

func checkPrompt(c *check) {
	raw := jsonraw.Get(c.Written, "arguments") // as written, since the names are compared
	if jsonraw.IsNull(raw) {
		return
	}
	arguments, err := jsonraw.Elements(raw)
	if err != nil {
		c.refuse("arguments is not an array")
		return
	}
	seen := map[string]bool{}
	for _, a := range arguments {
		name, ok := jsonraw.String(jsonraw.Get(a, "name"))
		if !ok || name == "" || seen[name] {
			c.refuse("arguments need a name each, and no two the same")
			return
		}
		if unseen(name) {
			c.refuse("argument %s has a name with invisible characters", sanitize.Visible(name))
			return
		}
		seen[name] = true
	}
}

func checkResource(c *check) {
	u, err := url.Parse(c.ID)
	if err != nil || u.Scheme == "" || strings.ContainsAny(c.ID, " \"<>\\^`{|}") || len(c.ID) > MaxURI {
		c.refuse("not an absolute URI")
		return
	}
	c.checkName()
	c.checkScheme(u.Scheme)
}

func checkTemplate(c *check) {
	t, err := uritemplate.Parse(c.ID)
	if err != nil {
		c.refuse("%v", err)
		return
	}
	scheme, ok := t.Scheme()
	if !ok {
		c.refuse("a template begins with a literal scheme and authority, such as notes://work/{id}")
		return
	}
	c.Pattern = t
	c.checkName()
	c.checkScheme(scheme)
}

// checkName requires the name that MCP requires of resources and templates.
func (c *check) checkName() {
	if name, ok := jsonraw.String(c.Members.Get("name")); !ok || name == "" {
		c.refuse("name is missing")
	}
}

// checkScheme rejects the host's own scheme.
func (c *check) checkScheme(scheme string) {
	if strings.EqualFold(scheme, HostName) {
		c.refuse("%s: is the host's own", HostName)
	}
}
