package hostfuncs

import (
	"context"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// follow performs the redirects of the request. Each hop is checked separately.
func (f *fetching) follow(ctx context.Context) error {
	for hops := 0; ; hops++ {
		next, err := f.request.Redirect(f.response)
		if err != nil || next != nil {
			f.response.Body.Close()
		}
		switch {
		case err != nil || next == nil:
			return err
		case hops == egress.MaxRedirects:
			return askErrorf(runtime.KindLimit, "more than %d redirects, the last to %s", egress.MaxRedirects, cut(next.URL.String(), maxAct))
		}
		f.request = next
		if err := f.gate.pass(ctx, f.hop()); err != nil {
			return err
		}
	}
}
