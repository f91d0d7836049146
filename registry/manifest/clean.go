package manifest

import (
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/internal/untrusted"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
)

// cleanTexts removes invisible characters from all texts of a definition. If that would change a name or a value that
// is compared, the entry is left out: the model and the plugin must see the same name.
func (c *check) cleanTexts() {
	if c.bad {
		return
	}
	for _, key := range []string{"inputSchema", "outputSchema"} {
		if at, found := jsonschema.Unseen(c.Members.Get(key)); found {
			c.refuse("%s: %s holds invisible characters, in a name or a compared value", key, sanitize.Visible(sanitize.Cut(at, 200)))
			return
		}
	}
	removed := 0
	members := c.Members[:0]
	for _, m := range c.Members {
		value, n := sanitize.JSON(m.Value, nil)
		removed += n
		if _, n := sanitize.Text(m.Key); n > 0 {
			removed += n
			continue // it could be confused with a different key
		}
		members = append(members, jsonraw.Member{Key: m.Key, Value: value})
	}
	if c.Members = members; removed > 0 {
		c.warn("%d invisible characters were removed from its texts", removed)
	}
}

// cleanMeta removes the keys of _meta that a plugin may not set.
func (c *check) cleanMeta() {
	raw := c.Members.Get("_meta")
	if raw == nil {
		return
	}
	all, err := jsonraw.ParseObject(raw)
	if err != nil {
		c.warn("_meta is not an object and was taken out")
		c.Members.Delete("_meta")
		return
	}
	kept := all[:0]
	for _, m := range all {
		if m.Key == command.Meta {
			continue
		}
		if untrusted.ReservedKey(m.Key) {
			c.warn("_meta key %q is reserved and was taken out", m.Key)
			continue
		}
		kept = append(kept, m)
	}
	if len(kept) == 0 && len(all) > 0 {
		c.Members.Delete("_meta")
		return
	}
	confined, cut := untrusted.ConfineUI(kept.Append(nil))
	if cut {
		c.warn("_meta.ui requests to the client (csp, permissions, domain) were removed")
	}
	c.Members.Set("_meta", confined)
}

// cleanIcons removes the icons that a client must not load.
func (c *check) cleanIcons() {
	raw := c.Members.Get("icons")
	if raw == nil {
		return
	}
	kept, removed := untrusted.KeepIcons(raw, untrusted.SafeIcon)
	switch {
	case removed > 0 && kept == nil && (len(raw) == 0 || raw[0] != '[' || removed > untrusted.MaxIcons):
		c.warn("icons is not an array of at most %d and was taken out", untrusted.MaxIcons)
	case removed > 0:
		c.warn("an icon is neither https: nor an image in data: and was taken out")
	}
	if kept == nil {
		c.Members.Delete("icons")
		return
	}
	c.Members.Set("icons", kept)
}
