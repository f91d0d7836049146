package protocol

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/search"
)

// callSearch serves the two tools of the host. If done is false, the request was rewritten to the call of the tool
// it names.
func callSearch(ctx context.Context, r *request) (body []byte, done bool, err error) {
	if !r.server.opts.Search {
		return nil, false, nil
	}
	switch name, _ := jsonraw.String(jsonraw.Get(r.call.Params, "name")); name {
	case search.Find:
		r.server.awaitComplete(ctx)
		o, err := r.view().Index.Answer(jsonraw.Get(r.call.Params, "arguments"))
		if err != nil {
			return nil, true, err
		}
		return r.frame(o, false), true, nil
	case search.Call:
		params, err := search.Unwrap(r.call.Params)
		if err != nil {
			return nil, true, err
		}
		r.call.Params = params
	}
	return nil, false, nil
}
