package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// TextDialect is the dialect of a document.
const TextDialect = "text"

// Description describes a plugin file.
type Description struct {
	Name     string             `json:"name"` // its name in a folder, without configuration
	File     string             `json:"file"`
	Size     int                `json:"size"`   // bytes
	Digest   string             `json:"digest"` // SHA-256, "sha256:" and hex
	Dialect  string             `json:"dialect"`
	Packed   bool               `json:"packed"`          // the manifest is in the file; else it came from plugin/describe
	Warm     bool               `json:"warm"`            // it has a warm-up of its own; see runtime.SelfWarmer
	Keeps    Residue            `json:"keeps,omitempty"` // of calls, for a plugin whose state is session by default
	Imports  []string           `json:"imports"`
	Manifest *manifest.Manifest `json:"manifest"`
	// Published holds the public names without configuration, by kind and local name: "tool now".
	Published map[string]string `json:"published,omitempty"`

	// Source is the origin of the file, nil if it names none.
	Source *Source `json:"source,omitempty"`

	// Raw is the manifest as the plugin wrote it.
	Raw json.RawMessage `json:"-"`
}

// Describer returns the manifest of a module without a manifest section; see NewDescriber.
type Describer func(ctx context.Context, wasm []byte, d runtime.Dialect) (json.RawMessage, error)

// errNotPacked is returned for a file without a manifest section if there is no Describer.
var errNotPacked = errors.New("the plugin has no manifest section; run sallyport pack to add one")

// NewDescriber returns a Describer that runs the module without grants.
func NewDescriber(engine *runtime.Engine, host *hostfuncs.Host) Describer {
	return func(ctx context.Context, wasm []byte, d runtime.Dialect) (json.RawMessage, error) {
		compiled, err := engine.Compile(ctx, wasm)
		if err != nil {
			return nil, err
		}
		defer compiled.Close()
		return Describe(ctx, host, compiled, d, "plugin")
	}
}

// Residue is what calls leave in an instance, as far as a rehearsal shows; see runtime.Rehearsal. The zero Residue is
// unknown.
type Residue string

// The kinds of Residue.
const (
	KeepsNothing Residue = "nothing" // equal calls leave equal memory
	KeepsMemory  Residue = "memory"  // memory changed, and no answer showed it
	KeepsAnswers Residue = "answers" // an answer depends on earlier calls
)

// Rehearse calls the tools of a module with made-up arguments and without grants, and reports the residue.
func Rehearse(ctx context.Context, engine *runtime.Engine, host *hostfuncs.Host, wasm []byte, d runtime.Dialect) (Residue, error) {
	if _, ok := d.(runtime.Rehearser); !ok {
		return "", nil
	}
	compiled, err := engine.Compile(ctx, wasm)
	if err != nil {
		return "", err
	}
	defer compiled.Close()
	policy := host.Plugin(hostfuncs.Plugin{Name: "plugin"})
	defer policy.Close()
	pool := runtime.NewPool(compiled, d, &runtime.PoolOptions{
		Start: opened(policy.StartGate), Warm: opened(policy.WarmGate), Rehearsal: opened(policy.RehearsalGate),
	})
	defer pool.Close(ctx)
	r, err := pool.Rehearse()
	switch {
	case errors.Is(err, runtime.ErrDiffers):
		return KeepsAnswers, nil
	case err != nil || r.Calls == 0:
		return "", err
	case r.SameMemory:
		return KeepsNothing, nil
	}
	return KeepsMemory, nil
}

// Inspect describes a plugin file. No code runs, unless a module has no manifest section: then describe is called, and a
// nil describe is an error. For an Extism manifest the module is described, with the manifest's wants.
func Inspect(ctx context.Context, path string, dialects []Dialect, describe Describer) (*Description, error) {
	var d *Description
	var err error
	if toolfile.Is(path) {
		path = toolfile.Module(path)
	}
	switch {
	case document.Is(path):
		d, err = describeDocument(path)
	case extismfile.Is(path):
		d, err = describeManifest(ctx, path, dialects, describe)
	default:
		d, err = describeModule(ctx, path, dialects, describe)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.File = path
	if d.Name, err = manifest.NameOfFile(path); err != nil {
		d.Name = filepath.Base(path)
		d.Manifest.Problems = append(d.Manifest.Problems, err.Error())
	}
	d.Manifest.Problems = slices.Concat(d.Manifest.Problems, d.publish(manifest.Tool), d.publish(manifest.Prompt), Problems(d.Manifest.Wants, d.Manifest))
	return d, nil
}

// publish sets the public names of a kind, and reports entries without one.
func (d *Description) publish(k manifest.Kind) (problems []string) {
	first := map[string]string{}
	for _, e := range d.Manifest.Entries(k) {
		public := manifest.PublicName(d.Name, e.ID, d.Dialect != TextDialect)
		if other, taken := first[public]; taken {
			problems = append(problems, fmt.Sprintf("%s %q is left out: its public name %s is that of %q already", k, e.ID, public, other))
			continue
		}
		first[public] = e.ID
		if d.Published == nil {
			d.Published = map[string]string{}
		}
		d.Published[manifest.Key(k, e.ID)] = public
	}
	return problems
}

// describeDocument describes a prompt or a skill, which has no code.
func describeDocument(path string) (*Description, error) {
	doc, st, err := document.Read(path)
	if err != nil {
		return nil, err
	}
	return &Description{Size: int(st.Size), Digest: doc.Digest, Dialect: TextDialect, Packed: true, Imports: []string{}, Manifest: doc.Manifest}, nil
}

func describeModule(ctx context.Context, path string, dialects []Dialect, describe Describer) (*Description, error) {
	wasm, _, err := toolfile.Read(path)
	if err != nil {
		return nil, err
	}
	d, err := describeBytes(ctx, wasm, dialects, describe)
	return d, named(err, path)
}

func describeBytes(ctx context.Context, wasm []byte, dialects []Dialect, describe Describer) (*Description, error) {
	digest := fileid.Digest(wasm)
	wasm, err := script.Expand(wasm)
	if err != nil {
		return nil, err
	}
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, err
	}
	if _, _, err := runtime.CheckOutline(b); err != nil {
		return nil, err
	}
	dialect, err := detect(b, dialects)
	if err != nil {
		return nil, err
	}
	d := &Description{Size: b.Size(), Digest: digest, Dialect: dialect.Name(), Imports: []string{}, Source: sourceOf(b)}
	if w, ok := dialect.(runtime.SelfWarmer); ok {
		d.Warm = b.HasExport(w.WarmExport())
	}
	for _, i := range b.Imports {
		d.Imports = append(d.Imports, i.Module+"."+i.Name)
	}
	if d.Raw, err = packed(b, dialect); err != nil {
		return nil, err
	}
	if d.Packed = d.Raw != nil; !d.Packed {
		if describe == nil {
			return nil, errNotPacked
		}
		if d.Raw, err = describe(ctx, wasm, dialect); err != nil {
			return nil, fmt.Errorf("plugin/describe: %w", err)
		}
	}
	d.Raw = launched(b, d.Raw)
	d.Manifest, err = manifest.Parse(d.Raw)
	return d, err
}

// describeManifest describes the module of an Extism manifest, with the manifest's wants.
func describeManifest(ctx context.Context, path string, dialects []Dialect, describe Describer) (*Description, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, _, err := extismfile.Read(path)
	if err == nil {
		err = f.Err
	}
	if err != nil {
		return nil, err
	}
	d, err := describeModule(ctx, f.Module, dialects, describe)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(f.Module), err)
	}
	if err := f.Check(d.Digest); err != nil {
		return nil, err
	}
	d.Manifest.Wants = append(d.Manifest.Wants, f.Manifest.Wants...)
	d.Manifest.Problems = append(d.Manifest.Problems, f.Manifest.Problems...)
	return d, nil
}
