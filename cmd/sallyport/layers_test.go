package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// module is the prefix of our own packages.
const module = "github.com/sallyport-mcp/sallyport/"

// layers gives each package its height: it may import only packages that are lower, or beside it in
// the same folder tree. A package that is not here fails the test, so that somebody decides.
var layers = map[string]int{
	"cmd/sallyport":                    6,
	"cmd/sallyport/internal/clients":   6,
	"cmd/sallyport/internal/compiler":  6,
	"cmd/sallyport/internal/logging":   6,
	"cmd/sallyport/internal/private":   6,
	"cmd/sallyport/internal/statekeys": 6,
	"cmd/sallyport/internal/voice":     6,
	"cmd/sallyport/internal/settings":  6,
	"cmd/sallyport/internal/hypermcp":  6,
	"cmd/sallyport/internal/terminal":  6,

	"cmd/sallyport/internal/terminal/terminaltest": 6,

	"cmd/bench":                 6,
	"cmd/challenges":            6,
	"transport":                 5,
	"transport/auth":            5,
	"transport/stdio":           5,
	"transport/streamable":      5,
	"transport/console":         5,
	"transport/outbox":          5,
	"transport/transporttest":   5,
	"transport/listener":        0,
	"transport/ratelimit":       0,
	"protocol":                  4,
	"registry":                  4,
	"registry/catalogue":        3,
	"registry/fit":              3,
	"registry/notify":           3,
	"registry/inspect":          3,
	"registry/document":         3,
	"registry/module":           3,
	"registry/serving":          3,
	"registry/extismfile":       1,
	"registry/lock":             1,
	"registry/cache":            0,
	"registry/folder":           0,
	"registry/frontmatter":      0,
	"registry/promptfile":       0,
	"registry/skillfile":        0,
	"registry/manifest":         0,
	"registry/names":            0,
	"registry/stamp":            0,
	"registry/uritemplate":      0,
	"hostfuncs":                 2,
	"hostfuncs/tree/system":     2,
	"hostfuncs/tree":            2,
	"hostfuncs/wasi/pipe":       0,
	"hostfuncs/wasi":            2,
	"hostfuncs/overlay":         2,
	"hostfuncs/landing":         0,
	"hostfuncs/filelock":        0,
	"hostfuncs/web":             2,
	"hostfuncs/audit":           0,
	"runtime":                   1,
	"runtime/native":            1,
	"runtime/extism":            1,
	"protocol/jsonrpc":          0,
	"protocol/paramheader":      0,
	"protocol/rawjson":          0,
	"protocol/clean":            0,
	"protocol/schema":           0,
	"protocol/schema/census":    0,
	"protocol/schema/decimal":   0,
	"protocol/apps":             0,
	"protocol/icon":             0,
	"protocol/meta":             0,
	"protocol/search":           0,
	"protocol/secretword":       0,
	"protocol/task":             3,
	"protocol/sealed":           0,
	"runtime/enginetest":        1,
	"runtime/codecache":         0,
	"runtime/image":             0,
	"runtime/wasmbin":           0,
	"runtime/wasmbin/rewrite":   0,
	"runtime/wasmtest":          0,
	"hostfuncs/argument":        0,
	"hostfuncs/secret":          0,
	"hostfuncs/canonical":       0,
	"hostfuncs/grant":           0,
	"hostfuncs/notation":        0,
	"hostfuncs/learn":           1,
	"hostfuncs/journal":         0,
	"hostfuncs/operator":        1,
	"hostfuncs/form":            1,
	"hostfuncs/store":           0,
	"hostfuncs/store/storetest": 0,
	"hostfuncs/trace":           0,
}

// beside lists the imports within one height that the design wants, upwards in the folder tree.
var beside = map[string][]string{
	"runtime/enginetest": {"runtime"},
	"cmd/sallyport":      {"cmd/sallyport/internal/clients", "cmd/sallyport/internal/compiler", "cmd/sallyport/internal/hypermcp", "cmd/sallyport/internal/logging", "cmd/sallyport/internal/private", "cmd/sallyport/internal/settings", "cmd/sallyport/internal/statekeys", "cmd/sallyport/internal/terminal", "cmd/sallyport/internal/voice"},

	"cmd/sallyport/internal/logging":   {"cmd/sallyport/internal/voice"},
	"cmd/sallyport/internal/private":   {"cmd/sallyport/internal/voice"},
	"cmd/sallyport/internal/statekeys": {"cmd/sallyport/internal/private", "cmd/sallyport/internal/voice"},

	"hostfuncs":              {"hostfuncs/overlay", "hostfuncs/tree", "hostfuncs/wasi", "hostfuncs/web"},
	"hostfuncs/grant":        {"hostfuncs/canonical", "hostfuncs/notation"},
	"hostfuncs/tree":         {"hostfuncs/tree/system", "hostfuncs/wasi"},
	"hostfuncs/tree/system":  {"hostfuncs/wasi"},
	"hostfuncs/overlay":      {"hostfuncs/tree", "hostfuncs/tree/system", "hostfuncs/wasi"},
	"runtime/native":         {"runtime"},
	"runtime/extism":         {"runtime"},
	"protocol/jsonrpc":       {"protocol/rawjson"},
	"protocol/schema":        {"protocol/clean", "protocol/rawjson", "protocol/schema/census", "protocol/schema/decimal"},
	"protocol/schema/census": {"protocol/clean", "protocol/rawjson"},

	"hostfuncs/argument":        {"protocol/rawjson"},
	"hostfuncs/operator":        {"hostfuncs/form"},
	"hostfuncs/trace":           {"protocol/rawjson"},
	"hostfuncs/landing":         {"hostfuncs/filelock"},
	"hostfuncs/store":           {"hostfuncs/filelock"},
	"hostfuncs/store/storetest": {"hostfuncs/store"},
	"registry/folder":           {"registry/stamp"},

	"registry/frontmatter": {"protocol/rawjson"},
	"registry/promptfile":  {"protocol/rawjson", "registry/frontmatter"},
	"registry/skillfile":   {"protocol/rawjson", "registry/frontmatter"},

	"registry":          {"registry/catalogue", "registry/document", "registry/fit", "registry/module", "registry/notify", "registry/serving"},
	"registry/notify":   {"registry/catalogue"},
	"registry/document": {"registry/serving"},
	"registry/inspect":  {"registry/module"},
	"registry/serving":  {"registry/catalogue", "registry/module"},
	"registry/cache":    {"protocol/rawjson", "registry/manifest", "registry/stamp"},

	"protocol/paramheader": {"protocol/rawjson"},
	"protocol/apps":        {"protocol/rawjson"},
	"protocol/clean":       {"protocol/rawjson"},
	"protocol/icon":        {"protocol/rawjson"},
	"protocol/meta":        {"protocol/apps", "protocol/rawjson"},
	"registry/manifest":    {"protocol/apps", "protocol/clean", "protocol/icon", "protocol/meta", "protocol/paramheader", "protocol/rawjson", "protocol/schema", "protocol/secretword", "registry/names", "registry/uritemplate"},

	"transport/streamable": {"transport/auth", "transport/outbox"},

	"runtime/wasmbin/rewrite": {"runtime/wasmbin"},
}

// homes says which packages may import a third-party library: one each.
var homes = map[string][]string{
	"github.com/tetratelabs/wazero":          {"runtime", "cmd/bench"},
	"github.com/santhosh-tekuri/jsonschema":  {"protocol/schema"},
	"github.com/dlclark/regexp2":             {"protocol/schema"},
	"github.com/zalando/go-keyring":          {"hostfuncs/secret"},
	"github.com/fsnotify/fsnotify":           {"registry/folder"},
	"github.com/spf13/viper":                 {"cmd/sallyport/internal/settings"},
	"github.com/spf13/pflag":                 {"cmd/sallyport/internal/settings"},
	"go.yaml.in/yaml":                        {"cmd/sallyport/internal/settings", "registry/frontmatter"},
	"github.com/spf13/cobra":                 {"cmd/sallyport"},
	"github.com/hashicorp/go-hclog":          {"cmd/sallyport/internal/logging"},
	"golang.org/x/net":                       {"hostfuncs/web"},
	"golang.org/x/text":                      {"registry/names"},
	"golang.org/x/sys":                       {"cmd/sallyport/internal/terminal", "hostfuncs/filelock", "hostfuncs/landing", "hostfuncs/tree/system", "runtime/image"},
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
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		height, known := layers[from]
		if !known {
			t.Errorf("%s has no layer: give it one in layers", from)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				checkHome(t, from, imported)
				continue
			}
			if layers[to] >= height && !contains(beside[from], to) {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports go down, see docs/architecture.md", from, height, to, layers[to])
			}
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
			if !contains(packages, from) {
				t.Errorf("%s imports %s: its home is %s, so that it can be replaced in one place", from, imported, strings.Join(packages, ", "))
			}
			return
		}
	}
	t.Errorf("%s imports %s, which has no home: give it one in homes", from, imported)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
