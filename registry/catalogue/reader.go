package catalogue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Reader serves resources/read for one URI: a Resource or a Template.
type Reader interface {
	// Read asks the plugin. Safe for concurrent use; errors are those of Tool.Call.
	Read(ctx context.Context, c Call) (json.RawMessage, error)
	// Keeps is that of Tool.
	Keeps(session string) bool
}

var (
	_ Reader = (*Resource)(nil)
	_ Reader = (*Template)(nil)
	_ Reader = (*collision)(nil)
)

// collision answers for a URI that two plugins claim alike.
type collision struct {
	uri     string
	plugins [2]string
}

// Keeps is false: nothing is called.
func (c *collision) Keeps(string) bool { return false }

// Read refuses and names both plugins.
func (c *collision) Read(context.Context, Call) (json.RawMessage, error) {
	return nil, &runtime.EndError{
		Kind: runtime.KindConflict,
		Message: fmt.Sprintf("plugins %q and %q have templates that both match %s; hide one of them",
			c.plugins[0], c.plugins[1], c.uri),
	}
}
