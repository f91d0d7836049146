package extism

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// changeable returns the lists of each notification of a change.
func changeable() map[string][]identified {
	return map[string][]identified{
		"notifications/tools/list_changed":     {{"tools", "name"}},
		"notifications/prompts/list_changed":   {{"prompts", "name"}},
		"notifications/resources/list_changed": {{"resources", "uri"}, {"resourceTemplates", "uriTemplate"}},
	}
}

// identified is a list with the member that identifies its entries.
type identified struct{ list, key string }

// called is the note of a kept instance that has served a call.
type called struct{}

// relisting prepares a call of a kept instance, whose lists are read again after a change. The lists of an earlier
// instance have no meaning for a new one.
func (d *dialect) relisting(s *session) {
	if s.call.relists = s.in.Kept(); !s.call.relists {
		return
	}
	if s.in.Noted() == nil && d.varies.Load() {
		for method := range changeable() {
			s.call.noteChange(method)
		}
	}
	s.in.Note(called{})
}

// noteChange notes a change of a list, to be read again after the call. It reports whether it did.
func (c *call) noteChange(method string) bool {
	if !c.relists {
		return false
	}
	if c.changed == nil {
		c.changed = map[string]bool{}
	}
	c.changed[method] = true
	return true
}

// relist reads the lists again that have changed, and tells the gate which entries they have. Lists that the guest fails
// to return are as before.
func (d *dialect) relist(ctx context.Context, s *session, serve server) {
	if len(s.call.changed) == 0 {
		return
	}
	d.varies.Store(true)
	s.call.relists = false
	described, err := serve(ctx, s, runtime.Request{Method: "plugin/describe"})
	if err != nil {
		return
	}
	for method := range s.call.changed {
		visible := []json.RawMessage{}
		for _, of := range changeable()[method] {
			entries, _ := jsonraw.Elements(jsonraw.Get(described, of.list))
			for _, entry := range entries {
				visible = append(visible, jsonraw.Get(entry, of.key))
			}
		}
		_, _ = ask(ctx, method, jsonraw.Object{{Key: "visible", Value: jsonraw.Array(visible)}}.Append(nil), nil)
	}
}
