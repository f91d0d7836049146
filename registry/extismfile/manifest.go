// Package extismfile parses the manifests of Extism plugins, JSON files that name a module and its needs:
//
//	{"wasm": [{"path": "counter.wasm", "hash": "9f86…"}],
//	 "config": {"vowels": "aeiou"},
//	 "memory": {"max_pages": 100}, "timeout_ms": 2000,
//	 "allowed_hosts": ["api.example.com"], "allowed_paths": {"/srv/data": "/data"}}
//
// A manifest comes with the plugin, so it grants nothing. It can only lower the operator's limits, its hosts and paths
// are wants, and a module outside of its folder needs the operator's configuration.
package extismfile

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	sdk "github.com/extism/go-sdk"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// maxModule limits a module in a manifest, in bytes: more belongs into a file of its own.
	maxModule = 32 << 20
	// maxSize limits a manifest, in bytes: a module in base64 and the rest.
	maxSize = maxModule/3*4 + maxRest
	// maxRest limits a manifest without its module, in bytes. Real ones have a few hundred.
	maxRest = 1 << 20
	// maxWants limits the hosts and paths together: each becomes a line for the operator to read.
	maxWants = 256
	// page is the unit of max_pages, in bytes.
	page = 64 << 10
	// maxTimeout limits timeout_ms to the range of time.Duration: some hundred years.
	maxTimeout = 1 << 42
)

var errTooLarge = fmt.Errorf("the manifest is over %d MiB, without a module in it over %d MiB: name a larger module by its path", maxSize>>20, maxRest>>20)

// Manifest is a checked manifest. It is immutable.
type Manifest struct {
	Path    string            // the module's file, as written; "" for another place
	URL     string            // the module's address; "" for another place
	Inline  bool              // the manifest holds the module
	Digest  string            // the required digest of the module: "sha256:" and hex; "" is any
	Config  map[string]string // values for the plugin
	Memory  uint64            // limit in bytes; 0 is none
	Timeout time.Duration     // limit of one call; 0 is none
	// Wants holds the requested hosts and paths, in the form of a native plugin's wants.
	Wants []json.RawMessage
	// Problems lists members that are ignored or not enforced, one sentence each.
	Problems []string

	size int // of the module in it
}

// Parse parses and checks a manifest. The error says why it cannot be used, and suggests a remedy.
func Parse(raw []byte) (*Manifest, error) {
	if len(raw) > maxSize {
		return nil, errTooLarge
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("this is no Extism manifest: %w", err)
	}
	if key, twice := jsonraw.DuplicateKey(raw); twice {
		return nil, fmt.Errorf("the manifest has the key %s twice", key)
	}
	m := &Manifest{}
	if err := m.checkKeys(o); err != nil {
		return nil, err
	}
	var parsed sdk.Manifest
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, notManifest(err)
	}
	if err := m.module(parsed.Wasm); err != nil {
		return nil, err
	}
	if len(raw)-base64.StdEncoding.EncodedLen(m.size) > maxRest {
		return nil, errTooLarge
	}
	m.values(parsed.Config)
	m.limits(&parsed)
	return m, m.wants(&parsed)
}

// notManifest rewords a decoding error in terms of the manifest.
func notManifest(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return fmt.Errorf("this is no Extism manifest: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "a text"
	case reflect.Slice:
		want = "a list"
	case reflect.Uint32, reflect.Uint64:
		want = "a whole number"
	}
	got := wrong.Value
	if n, ok := strings.CutPrefix(got, "number "); ok {
		got = "the number " + n
	} else if got != "bool" {
		got = "a " + got
	}
	return fmt.Errorf("the manifest's %s: want %s, but got %s", wrong.Field, want, got)
}

// known returns the members of a manifest.
func known() []string {
	return []string{"wasm", "config", "memory", "timeout_ms", "allowed_hosts", "allowed_paths"}
}

// checkKeys reports unknown members. One that differs from a known member only in case is an error, since other hosts
// would accept it.
func (m *Manifest) checkKeys(o jsonraw.Object) error {
	if jsonraw.IsNull(o.Get("wasm")) {
		return errors.New(`this is no Extism manifest: it has no list "wasm" that names its module`)
	}
members:
	for _, member := range o {
		for _, key := range known() {
			if member.Key == key {
				continue members
			}
			if strings.EqualFold(member.Key, key) {
				return fmt.Errorf("the manifest has the key %q: write %q", member.Key, key)
			}
		}
		m.problem("the manifest's key %q is not known and does nothing", member.Key)
	}
	return nil
}

// merge are the commands that make one module, with one memory, of a main module and one that it imports by the name lib.
const merge = "wasm-merge --enable-multimemory main.wasm main lib.wasm lib -o two.wasm && " +
	"wasm-opt --enable-multimemory --enable-bulk-memory --multi-memory-lowering two.wasm -o plugin.wasm"

// module sets the only module.
func (m *Manifest) module(wasm []sdk.Wasm) error {
	switch {
	case len(wasm) == 0:
		return errors.New(`the manifest names no module: write "wasm": [{"path": "plugin.wasm"}]`)
	case len(wasm) > 1:
		return fmt.Errorf("the manifest links %d modules, which is not served here: give each plugin a manifest of its own, or make one module of main.wasm and lib.wasm with Binaryen: "+merge, len(wasm))
	}
	var hash string
	switch w := wasm[0].(type) {
	case sdk.WasmFile:
		m.Path, hash = w.Path, w.Hash
	case sdk.WasmUrl:
		m.URL, hash = w.Url, w.Hash
	case sdk.WasmData:
		if len(w.Data) > maxModule {
			return errTooLarge
		}
		m.Inline, m.size, hash = true, len(w.Data), w.Hash
	}
	var err error
	m.Digest, err = digest(hash)
	return err
}

// values sets the configuration.
func (m *Manifest) values(config map[string]string) {
	m.Config = make(map[string]string, len(config))
	for name, value := range config {
		if problem := grant.CheckConfig(name, value); problem != "" {
			m.problem("the manifest's %s", problem)
			continue
		}
		m.Config[name] = value
	}
}

// limits sets the limits that can be enforced, and reports the others.
func (m *Manifest) limits(parsed *sdk.Manifest) {
	m.Memory = uint64(parsed.Memory.MaxPages) * page
	m.Timeout = time.Duration(min(parsed.Timeout, maxTimeout)) * time.Millisecond
	if n := parsed.Memory.MaxHttpResponseBytes; n >= 0 {
		m.problem("the manifest's memory.max_http_response_bytes of %d is not held by itself: the limit on memory bounds answers", n)
	}
	if n := parsed.Memory.MaxVarBytes; n >= 0 && n < ownVars {
		m.problem("the manifest's memory.max_var_bytes of %d is not held: variables may have 1 MiB, and end with the call", n)
	}
}

// ownVars is the limit of variables in bytes; a manifest cannot change it.
const ownVars = 1 << 20

func (m *Manifest) problem(format string, args ...any) {
	m.Problems = append(m.Problems, fmt.Sprintf(format, args...))
}
