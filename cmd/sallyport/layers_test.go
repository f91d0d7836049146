package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// module is the prefix of our own packages.
const module = "github.com/sallyport-mcp/sallyport/"

// layers gives each package its height, a line each: it may import only packages that are lower, and those of its own
// height that stand behind its ">". A package that is not here fails the test, so that somebody decides.
const layers = `
6 cmd/bench
6 cmd/challenges
6 cmd/sallyport > cmd/sallyport/internal/*
6 cmd/sallyport/internal/clients > cmd/sallyport/internal/textfile
6 cmd/sallyport/internal/compiler
6 cmd/sallyport/internal/host > cmd/sallyport/internal/clients cmd/sallyport/internal/compiler cmd/sallyport/internal/logging cmd/sallyport/internal/private cmd/sallyport/internal/review cmd/sallyport/internal/settings cmd/sallyport/internal/textfile cmd/sallyport/internal/voice
6 cmd/sallyport/internal/hypermcp
6 cmd/sallyport/internal/logging > cmd/sallyport/internal/private cmd/sallyport/internal/settings cmd/sallyport/internal/voice
6 cmd/sallyport/internal/private > cmd/sallyport/internal/voice
6 cmd/sallyport/internal/review > cmd/sallyport/internal/voice
6 cmd/sallyport/internal/settings > cmd/sallyport/internal/textfile hostfuncs/notation
6 cmd/sallyport/internal/statekeys > cmd/sallyport/internal/private cmd/sallyport/internal/voice
6 cmd/sallyport/internal/terminal
6 cmd/sallyport/internal/terminal/terminaltest
6 cmd/sallyport/internal/textfile
6 cmd/sallyport/internal/voice
6 cmd/strict

5 transport/auth
5 transport/console
5 transport/outbox
5 transport/stdio
5 transport/streamable > transport/outbox
5 transport/transporttest

4 protocol
4 registry > registry/catalogue registry/document registry/fit registry/module registry/notify registry/serving

3 protocol/answer
3 protocol/ask
3 protocol/failure > protocol/answer registry/catalogue
3 protocol/listing > protocol/search registry/catalogue
3 protocol/once > protocol/answer
3 protocol/parked > protocol/ask registry/catalogue
3 protocol/resume > protocol/ask
3 protocol/search > protocol/answer registry/catalogue
3 protocol/subscription > protocol/task registry/catalogue
3 protocol/task
3 protocol/task/runner > protocol/task
3 registry/catalogue
3 registry/document > registry/serving
3 registry/fit
3 registry/inspect > registry/document registry/fit registry/module
3 registry/module
3 registry/notify > registry/catalogue
3 registry/serving > registry/catalogue registry/module

2 hostfuncs > hostfuncs/overlay hostfuncs/quota hostfuncs/tree hostfuncs/tree/system hostfuncs/vault hostfuncs/wasi hostfuncs/web
2 hostfuncs/overlay > hostfuncs/tree hostfuncs/tree/system hostfuncs/wasi
2 hostfuncs/quota
2 hostfuncs/tree > hostfuncs/tree/system hostfuncs/wasi
2 hostfuncs/tree/system > hostfuncs/wasi
2 hostfuncs/vault
2 hostfuncs/wasi
2 hostfuncs/web

1 hostfuncs/form
1 hostfuncs/learn
1 hostfuncs/operator > hostfuncs/form
1 registry/extismfile
1 registry/lock
1 runtime
1 runtime/enginetest > runtime
1 runtime/extism > runtime
1 runtime/native > runtime

0 hostfuncs/argument > protocol/rawjson
0 hostfuncs/audit > hostfuncs/filelock protocol/rawjson
0 hostfuncs/canonical
0 hostfuncs/filelock
0 hostfuncs/grant > hostfuncs/canonical hostfuncs/notation
0 hostfuncs/journal
0 hostfuncs/landing > hostfuncs/filelock
0 hostfuncs/notation
0 hostfuncs/protected
0 hostfuncs/receipt > protocol/rawjson
0 hostfuncs/secret
0 hostfuncs/store > hostfuncs/filelock
0 hostfuncs/store/storetest > hostfuncs/store
0 hostfuncs/trace > protocol/rawjson
0 hostfuncs/wasi/pipe
0 protocol/apps > protocol/rawjson
0 protocol/clean > protocol/rawjson
0 protocol/era > protocol/jsonrpc protocol/meta protocol/rawjson
0 protocol/greeting > protocol/apps protocol/era protocol/rawjson
0 protocol/icon > protocol/rawjson
0 protocol/jsonrpc > protocol/clean protocol/rawjson
0 protocol/meta > protocol/apps protocol/rawjson
0 protocol/paramheader > protocol/rawjson
0 protocol/rawjson
0 protocol/schema > protocol/clean protocol/rawjson protocol/schema/census protocol/schema/decimal protocol/schema/regex
0 protocol/schema/census > protocol/clean protocol/rawjson
0 protocol/schema/decimal
0 protocol/schema/regex
0 protocol/sealed
0 protocol/secretword
0 protocol/session
0 protocol/stream > protocol/clean protocol/jsonrpc protocol/meta protocol/rawjson
0 protocol/wish > protocol/jsonrpc protocol/rawjson
0 registry/cache > protocol/rawjson registry/manifest registry/stamp
0 registry/folder > registry/stamp
0 registry/frontmatter > protocol/rawjson
0 registry/manifest > protocol/apps protocol/clean protocol/icon protocol/meta protocol/paramheader protocol/rawjson protocol/schema protocol/secretword registry/names registry/uritemplate
0 registry/names
0 registry/promptfile > protocol/rawjson registry/frontmatter
0 registry/skillfile > protocol/rawjson registry/frontmatter
0 registry/stamp
0 registry/uritemplate
0 runtime/codecache
0 runtime/image
0 runtime/wasmbin
0 runtime/wasmbin/rewrite > runtime/wasmbin
0 runtime/wasmtest
0 transport/listener
0 transport/ratelimit
`

// layer is a line of layers.
type layer struct {
	height int
	beside []string // patterns of path.Match
}

func readLayers(t *testing.T) map[string]layer {
	t.Helper()
	all := map[string]layer{}
	for line := range strings.Lines(layers) {
		name, beside, _ := strings.Cut(strings.TrimSpace(line), " > ")
		if name == "" {
			continue
		}
		var l layer
		if _, err := fmt.Sscanf(name, "%d %s", &l.height, &name); err != nil {
			t.Fatalf("layers: %q: %v", line, err)
		}
		if _, twice := all[name]; twice {
			t.Fatalf("layers: %s stands there twice", name)
		}
		l.beside = strings.Fields(beside)
		all[name] = l
	}
	return all
}

// homes says which packages may import a third-party library: one each.
var homes = map[string][]string{
	"github.com/tetratelabs/wazero":          {"runtime", "cmd/bench"},
	"github.com/santhosh-tekuri/jsonschema":  {"protocol/schema"},
	"github.com/dlclark/regexp2":             {"protocol/schema/regex"},
	"github.com/zalando/go-keyring":          {"hostfuncs/secret"},
	"github.com/fsnotify/fsnotify":           {"registry/folder"},
	"github.com/spf13/viper":                 {"cmd/sallyport/internal/settings"},
	"github.com/spf13/pflag":                 {"cmd/sallyport/internal/settings"},
	"go.yaml.in/yaml":                        {"cmd/sallyport/internal/settings", "registry/frontmatter"},
	"github.com/spf13/cobra":                 {"cmd/sallyport"},
	"github.com/hashicorp/go-hclog":          {"cmd/sallyport/internal/logging"},
	"golang.org/x/term":                      {"cmd/sallyport/internal/terminal"},
	"github.com/tailscale/hujson":            {"cmd/sallyport/internal/clients"},
	"github.com/pelletier/go-toml":           {"cmd/sallyport/internal/clients"},
	"golang.org/x/net":                       {"hostfuncs/web"},
	"golang.org/x/text":                      {"hostfuncs/canonical", "protocol/secretword", "registry/catalogue", "registry/names"},
	"golang.org/x/sys":                       {"cmd/sallyport/internal/terminal", "hostfuncs/filelock", "hostfuncs/landing", "hostfuncs/protected", "hostfuncs/tree/system", "runtime/image"},
	"golang.org/x/time":                      {"transport/ratelimit"},
	"modernc.org/sqlite":                     {"hostfuncs/store"},
	"github.com/modelcontextprotocol/go-sdk": {"cmd/bench"},
	"github.com/mark3labs/mcp-go":            {"cmd/bench"},
	"github.com/creack/pty":                  {"cmd/sallyport/internal/terminal/terminaltest"},
	"github.com/extism/go-sdk":               {"registry/extismfile", "cmd/bench"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestLayers(t *testing.T) {
	all := readLayers(t)
	seen := map[string]bool{}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		l, known := all[from]
		if seen[from] = true; !known {
			t.Errorf("%s has no layer: give it one in layers", from)
			continue
		}
		l.checkBeside(t, from, p.Imports)
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				checkHome(t, from, imported)
				continue
			}
			if all[to].height >= l.height && !l.mayImport(to) {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports go down, see docs/architecture.md", from, l.height, to, all[to].height)
			}
		}
	}
	for name := range all {
		if !seen[name] {
			t.Errorf("%s has a layer, and is no package", name)
		}
	}
}

// TestLayers_inTheDocs holds that docs/architecture.md says of each package what it is for.
func TestLayers_inTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range readLayers(t) {
		if !strings.Contains(string(text), "| `"+name+"` |") && !strings.HasSuffix(name, "test") {
			t.Errorf("docs/architecture.md has no row for %s", name)
		}
	}
}

// mayImport reports whether a package of the same height, or a higher one, may be imported all the same.
func (l layer) mayImport(name string) bool {
	return slices.ContainsFunc(l.beside, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// checkBeside holds that a layer allows nothing that is not needed.
func (l layer) checkBeside(t *testing.T, from string, imports []string) {
	t.Helper()
	for _, pattern := range l.beside {
		needed := func(imported string) bool {
			ok, _ := path.Match(module+pattern, imported)
			return ok
		}
		if !slices.ContainsFunc(imports, needed) {
			t.Errorf("%s may import %s, and does not: take it out of layers", from, pattern)
		}
	}
}

// checkHome holds that a third-party library is imported by its home only.
func checkHome(t *testing.T, from, imported string) {
	t.Helper()
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return // the standard library
	}
	for library, packages := range homes {
		if imported == library || strings.HasPrefix(imported, library+"/") {
			if !slices.Contains(packages, from) {
				t.Errorf("%s imports %s: its home is %s, so that it can be replaced in one place", from, imported, strings.Join(packages, ", "))
			}
			return
		}
	}
	t.Errorf("%s imports %s, which has no home: give it one in homes", from, imported)
}
