package protocol

import (
	"context"
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
	reader, ok := r.server.current().snapshot.Resource(uri)
	if !ok {
		return nil, r.resourceNotFound("unknown resource")
	}
	raw, err := reader.Read(ctx, r.forward(uri))
	if err != nil {
		return nil, err
	}
	o, err := parseResult(raw)
	if err != nil {
		return nil, err
	}
	if err := eachObject(o, "contents", checkContents); err != nil {
		return nil, err
	}
	return r.reply(o, true), nil
}
