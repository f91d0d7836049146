package hostfuncs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

const dialTime = 10 * time.Second

type client struct{}

func newClient(*Host) *client { return &client{} }
func (*client) close()        {}

func (g *Gate) fetch(context.Context, json.RawMessage, runtime.Streams) (json.RawMessage, error) {
	return nil, askErrorf(runtime.KindUnsupported, "http/fetch is not available in this version")
}
