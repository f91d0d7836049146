package server

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// rereader reads the changed lists of a kept server again, after the answer of a call, and tells the gate which entries
// they have. A list that the server fails to return is as before.
type rereader struct {
	lister
	failed map[string]bool // capabilities
}

// everyList returns the capabilities with lists.
func everyList() map[string]bool {
	return map[string]bool{"tools": true, "resources": true, "prompts": true}
}

// noteChange notes a change of a list that names no entries, to be read again. It reports whether it did.
func (c *conversation) noteChange(method string, params json.RawMessage) bool {
	for _, key := range []string{"visible", "show", "hide"} {
		if jsonraw.Get(params, key) != nil {
			return false
		}
	}
	if c.changed == nil {
		c.changed = map[string]bool{}
	}
	for capability := range everyList() {
		if method == changeOf(capability) {
			c.changed[capability] = true
		}
	}
	return true
}

func changeOf(capability string) string { return "notifications/" + capability + "/list_changed" }

// reread reads the lists that have changed.
func reread(c *conversation) {
	r := &rereader{lister: lister{conversation: c, only: c.changed}, failed: map[string]bool{}}
	r.done = r.tell
	c.client = r
	r.begin()
}

func (r *rereader) answered(result json.RawMessage, failed *jsonrpc.Error) {
	if failed != nil {
		r.failed[lists[r.next].capability] = true
		failed = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound} // an empty list for the lister
	}
	r.lister.answered(result, failed)
}

// tell passes the entries of each list that was read to the gate.
func (r *rereader) tell(manifest jsonraw.Object) {
	r.changed = nil
	for capability := range r.only {
		if r.failed[capability] || !r.has(capability) {
			continue
		}
		var visible []json.RawMessage
		for _, of := range lists {
			if of.capability != capability {
				continue
			}
			entries, _ := jsonraw.Elements(manifest.Get(of.member))
			for _, entry := range entries {
				visible = append(visible, jsonraw.Get(entry, of.key))
			}
		}
		r.conversation.tell(changeOf(capability), jsonraw.Object{{Key: "visible", Value: jsonraw.Array(visible)}}.Append(nil))
	}
}
