package protocol

import (
	"context"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// readResource serves resources/read.
func readResource(ctx context.Context, r *request) ([]byte, error) {
	if err := r.unambiguous(); err != nil {
		return nil, err
	}
	uri, err := r.member("uri")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(uri, resultURI) {
		return r.readResult(ctx, uri)
	}
	reader, _, ok := find(ctx, r.server, func(s *catalogue.Snapshot) (catalogue.Reader, bool) { return s.Resource(uri) })
	if !ok {
		return nil, r.resourceNotFound("unknown resource")
	}
	call, err := r.forward(uri)
	if err != nil {
		return nil, err
	}
	o, err := r.serve(ctx, reader, call, parsed(reader.Read))
	if err != nil {
		return nil, err
	}
	if err := eachObject(o, "contents", checkContents); err != nil {
		return nil, err
	}
	meta.StripBelow(&o, "contents")
	return r.reply(o, true), nil
}
