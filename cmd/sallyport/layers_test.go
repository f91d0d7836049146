package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the path prefix of this module's packages.
const module = "github.com/sallyport-mcp/sallyport/"

// layers are the folders, the highest first. A package imports its own folder and those below it.
var layers = []string{"cmd", "transport", "protocol", "registry", "hostfuncs", "runtime", "internal", "pdk"}

// layerOf returns the height of a package's folder, or -1.
func layerOf(name string) int {
	folder, _, _ := strings.Cut(name, "/")
	return slices.Index(layers, folder)
}

// homes lists the packages that may import a third-party library.
var homes = map[string][]string{
	"github.com/tetratelabs/wazero":          {"runtime", "cmd/bench"},
	"github.com/santhosh-tekuri/jsonschema":  {"internal/jsonschema"},
	"github.com/dlclark/regexp2":             {"internal/jsonschema/regex"},
	"github.com/zalando/go-keyring":          {"hostfuncs/secret"},
	"github.com/fsnotify/fsnotify":           {"registry/folder"},
	"github.com/evanw/esbuild":               {"registry/script"},
	"github.com/spf13/viper":                 {"cmd/sallyport/internal/settings"},
	"github.com/spf13/pflag":                 {"cmd/sallyport/internal/settings"},
	"go.yaml.in/yaml":                        {"internal/strictyaml"},
	"github.com/spf13/cobra":                 {"cmd/sallyport"},
	"github.com/klauspost/compress":          {"runtime/codecache"},
	"github.com/cespare/xxhash":              {"runtime/codecache"},
	"github.com/hashicorp/go-hclog":          {"cmd/sallyport/internal/logging"},
	"golang.org/x/term":                      {"cmd/sallyport/internal/ui"},
	"github.com/landlock-lsm/go-landlock":    {"cmd/sallyport/internal/host"},
	"github.com/tailscale/hujson":            {"cmd/sallyport/internal/clients"},
	"github.com/pelletier/go-toml":           {"cmd/sallyport/internal/clients"},
	"golang.org/x/net":                       {"hostfuncs/egress"},
	"golang.org/x/text":                      {"internal/identity", "internal/urlnorm", "internal/untrusted", "registry/catalog", "registry/manifest"},
	"golang.org/x/sys":                       {"cmd/sallyport/internal/ui", "internal/filelock", "hostfuncs/fs/denylist", "hostfuncs/fs/jail/system", "runtime/image", "cmd/sallyport-sigstore"},
	"github.com/prometheus/client_golang":    {"cmd/sallyport/internal/metrics"},
	"github.com/prometheus/client_model":     {"cmd/sallyport/internal/metrics"},
	"golang.org/x/time":                      {"hostfuncs", "protocol/notify", "transport/streamable"},
	"modernc.org/sqlite":                     {"hostfuncs/state/store"},
	"github.com/jackc/pgx":                   {"hostfuncs/state/store"},
	"github.com/modelcontextprotocol/go-sdk": {"cmd/bench"},
	"github.com/mark3labs/mcp-go":            {"cmd/bench"},
	"github.com/creack/pty":                  {"cmd/sallyport/internal/ui/terminaltest"},
	"github.com/extism/go-sdk":               {"registry/extismfile", "cmd/bench"},
	"oras.land/oras-go":                      {"registry/source"},
	"github.com/opencontainers":              {"registry/source", "cmd/dist"},
	"github.com/coreos/go-oidc":              {"transport/auth/oauth"},
	"github.com/go-jose/go-jose":             {"transport/auth/oauth"},
	"golang.org/x/crypto":                    {"internal/minisign", "internal/minisign/minisigntest", "cmd/dist"},
	"aead.dev/minisign":                      {"internal/minisign"},

	// Of the module in cmd/sallyport-sigstore.
	"github.com/sigstore/sigstore-go":      {"cmd/sallyport-sigstore"},
	"github.com/in-toto/attestation":       {"cmd/sallyport-sigstore"},
	"github.com/theupdateframework/go-tuf": {"cmd/sallyport-sigstore"},
	"google.golang.org/protobuf":           {"cmd/sallyport-sigstore"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// packages lists the packages of this module, and of the one in cmd/sallyport-sigstore.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	for _, dir := range []string{".", "../sallyport-sigstore"} {
		all = append(all, packagesIn(t, dir)...)
	}
	return all
}

func packagesIn(t *testing.T, dir string) (all []listed) {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
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

func TestLayers_importsGoDown(t *testing.T) {
	seen := map[int]bool{}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		height := layerOf(from)
		if seen[height] = true; height < 0 {
			t.Errorf("%s: got none of the folders %v, want one", from, layers)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				checkHome(t, from, imported)
			} else if layerOf(to) < height {
				t.Errorf("%s: got an import of %s, want imports that go down, see docs/architecture.md", from, to)
			}
		}
	}
	if len(seen) != len(layers) {
		t.Errorf("packages in %d folders, want %v", len(seen), layers)
	}
}

// TestLayers_inTheDocs compares the picture in docs/architecture.md with the folders.
func TestLayers_inTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "## Layers\n\n```\n")
	picture, _, _ = strings.Cut(picture, "```")
	var drawn []string
	for line := range strings.Lines(picture) {
		if name, _, _ := strings.Cut(line, " "); layerOf(strings.TrimSpace(name)) >= 0 {
			drawn = append(drawn, strings.TrimSpace(name))
		}
	}
	if !slices.Equal(drawn, layers) {
		t.Errorf("docs/architecture.md draws %v, want %v", drawn, layers)
	}
	for _, quoted := range regexp.MustCompile("`([a-z]+(/[a-z_]+)+(\\.go)?)`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(quoted[1]))); layerOf(quoted[1]) >= 0 && err != nil {
			t.Errorf("docs/architecture.md: got %s, which is missing, want names of what exists", quoted[1])
		}
	}
}

// checkHome checks that a third-party library is imported only by its home.
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
