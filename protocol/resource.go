package protocol

import (
	"context"
	"strings"

	"github.com/sallyport-mcp/sallyport/protocol/apps"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry"
)

// confineContents takes out of the _meta of each entry what is not a plugin's to say, or to want of a client.
func confineContents(o *rawjson.Object) error {
	entries, err := rawjson.Elements(o.Get("contents"))
	if err != nil {
		return misshapen("contents: %v", err)
	}
	changed := false
	for i, raw := range entries {
		if rawjson.Get(raw, "_meta") == nil {
			continue
		}
		entry, err := rawjson.ParseObject(raw)
		if err != nil {
			return misshapen("contents[%d]: %v", i, err)
		}
		cleanMeta(&entry)
		if meta, cut := apps.Confine(entry.Get("_meta")); cut {
			entry.Set("_meta", meta)
		}
		entries[i], changed = entry.Append(nil), true
	}
	if changed {
		o.Set("contents", joinArray(entries))
	}
	return nil
}

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
	reader, _, ok := find(ctx, r.server, func(s *registry.Snapshot) (registry.Reader, bool) { return s.Resource(uri) })
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
	if err := confineContents(&o); err != nil {
		return nil, err
	}
	return r.reply(o, true), nil
}
