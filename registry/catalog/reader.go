package catalog

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Reader serves resources/read for one URI: a Resource or a Template.
type Reader interface {
	// Read requests the contents from the plugin. It is used as Tool.Run.
	Read(ctx context.Context, c Call) (Run, error)
	// Keeps reports whether a call of a session sees plugin state from earlier calls, as Tool.Keeps does.
	Keeps(session string) bool
}

var (
	_ Reader = (*Resource)(nil)
	_ Reader = (*Template)(nil)
	_ Reader = (*collision)(nil)
)

// ReadFor reads a resource for a plugin, as Tool.Call calls a tool.
func ReadFor(ctx context.Context, r Reader, c Call) (json.RawMessage, error) {
	return handOver(r.Read(ctx, c))
}

// collision answers for a URI that templates of two plugins match equally.
type collision struct {
	uri     string
	plugins [2]string
}

// Keeps returns false: no plugin is called.
func (c *collision) Keeps(string) bool { return false }

// Read returns an error that names both plugins.
func (c *collision) Read(context.Context, Call) (Run, error) {
	return nil, &runtime.EndError{
		Kind: runtime.KindConflict,
		Message: fmt.Sprintf("plugins %q and %q have templates that both match %s; hide one of them",
			c.plugins[0], c.plugins[1], c.uri),
	}
}
