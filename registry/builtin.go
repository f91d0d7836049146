package registry

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// builtinURI is the URI of the resource that lists the plugins.
const builtinURI = manifest.HostName + "://plugins"

// builtinResource is its definition.
const builtinResource = `{"uri":"sallyport://plugins","name":"plugins","title":"Loaded plugins",` +
	`"description":"Each plugin of this host: its file, digest, state, and why it is not loaded if it is not.",` +
	`"mimeType":"application/json"}`

// addBuiltin publishes the host's own plugin.
func (a *assembler) addBuiltin() error {
	members, err := jsonraw.ParseObject([]byte(builtinResource))
	if err != nil {
		return err
	}
	m := manifest.Of(manifest.Resource, manifest.Entry{ID: builtinURI, Members: members})
	return a.addCode(manifest.HostName, &plugin.Code{Manifest: m, Serve: a.public.readStatus})
}

// readStatus serves sallyport://plugins: the status of each plugin, with base names in place of file paths.
func (pub *publisher) readStatus(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	list := pub.plugins()
	list = slices.DeleteFunc(list, func(s Status) bool { return s.Name == manifest.HostName })
	for i := range list {
		if list[i].File != "" {
			list[i].File = filepath.Base(list[i].File)
		}
	}
	text, err := json.Marshal(map[string]any{"plugins": list})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"contents": []any{map[string]string{
		"uri": builtinURI, "mimeType": "application/json", "text": string(text),
	}}})
}
