package registry

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/names"
	"github.com/sallyport-mcp/sallyport/registry/serving"
)

// State says in one word where a plugin stands.
type State string

// The states of a plugin.
const (
	StateLoading  State = "loading"  // its file is still changing, or is being read
	StateLoaded   State = "loaded"   // it serves
	StateFailed   State = "failed"   // it cannot be loaded; Error says why
	StateHeld     State = "held"     // it could be loaded, but another plugin claims its name, or nobody has approved it
	StateDisabled State = "disabled" // the operator turned it off
)

// Status is what is known of one plugin.
type Status struct {
	Name      string   `json:"name"`
	File      string   `json:"file,omitempty"`    // its path; "" for a plugin of this process
	Digest    string   `json:"digest,omitempty"`  // SHA-256 of what serves, "sha256:" and hex
	Dialect   string   `json:"dialect,omitempty"` // "go" for a plugin of this process
	State     State    `json:"state"`
	Version   string   `json:"version,omitempty"` // as the plugin says
	Error     string   `json:"error,omitempty"`   // why it failed or is held; with StateLoaded: why a newer file does not serve
	Tools     int      `json:"tools"`             // published
	Resources int      `json:"resources"`         // published, with templates
	Prompts   int      `json:"prompts"`           // published
	Warnings  []string `json:"warnings,omitempty"`

	// Wants and Grants are what it announced and what the operator's file allows, as lines; who reads the list
	// over the wire does not see them.
	Wants, Grants []string `json:"-"`
	// Ceilings are the max_grants that hold for it, as lines: those of the file, then its own.
	Ceilings [][]string `json:"-"`
	Waits    string     `json:"waits,omitempty"`   // the digest of bytes that nobody has approved yet
	Keeps    string     `json:"keeps,omitempty"`   // what its state is kept for from call to call: "session", "plugin"
	Updates  string     `json:"updates,omitempty"` // what the operator approved beforehand: "dev", "same-interface"
}

// Plugins returns the status of every plugin, sorted by name and file.
func (r *Registry) Plugins() []Status {
	list := slices.Clone(r.shown.Load().status)
	for i := range list {
		list[i].Warnings = slices.Clone(list[i].Warnings)
	}
	return list
}

// builtinURI is the resource that lists the plugins.
const builtinURI = names.Host + "://plugins"

// builtinResource is the definition of it.
const builtinResource = `{"uri":"sallyport://plugins","name":"plugins","title":"Loaded plugins",` +
	`"description":"Each plugin of this host: its file, digest, state, and why it is not loaded if it is not.",` +
	`"mimeType":"application/json"}`

// addBuiltin publishes the host's own plugin.
func (r *Registry) addBuiltin() error {
	members, err := rawjson.ParseObject([]byte(builtinResource))
	if err != nil {
		return err
	}
	m := manifest.Of(manifest.Resource, manifest.Entry{ID: builtinURI, Members: members})
	return r.addCode(names.Host, &serving.Code{Manifest: m, Serve: r.readStatus})
}

// readStatus serves sallyport://plugins: the status of each plugin, without the folders of this
// machine.
func (r *Registry) readStatus(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	list := r.Plugins()
	list = slices.DeleteFunc(list, func(s Status) bool { return s.Name == names.Host })
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
