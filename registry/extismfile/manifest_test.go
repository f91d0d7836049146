package extismfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func TestParse_readsManifests(t *testing.T) {
	m, err := Parse([]byte(`{"wasm":[{"path":"a.wasm","hash":"` + strings.ToUpper(hash) + `","name":"main"}],
		"config":{"k":"v","PWD":"/x","a=b":"c"},"memory":{"max_pages":3,"max_var_bytes":10},"timeout_ms":1500,
		"allowed_hosts":["api.example.com","*","*.example.com","a?c"],"allowed_paths":{"/srv/d":"/srv/d","rel":"/x"},"extra":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Path != "a.wasm" || m.Digest != "sha256:"+hash || m.Memory != 3<<16 || m.Timeout != 1500*time.Millisecond || fmt.Sprint(m.Config) != "map[k:v]" {
		t.Errorf("got %+v, want a.wasm of %s with 3 pages, 1.5 s and k", m, hash)
	}
	want := []string{
		`{"net":"GET,POST https://api.example.com/**","why":"allowed_hosts names \"api.example.com\""}`,
		`{"net":"GET,POST https://**","why":"allowed_hosts names \"*\""}`,
		`{"net":"GET,POST https://*.**.example.com/**","why":"allowed_hosts names \"*.example.com\""}`,
		`{"fs":"write /srv/d/**","why":"allowed_paths names \"/srv/d\""}`,
	}
	for i, w := range m.Wants {
		if i >= len(want) || string(w) != want[i] {
			t.Errorf("want %d of the manifest: got %s, want one of %q", i, w, want)
		}
	}
	problems := strings.Join(m.Problems, "\n")
	for _, part := range []string{`key "extra" is not known`, `config name "PWD"`, `config name "a=b"`, "max_var_bytes of 10 is not held",
		`"a?c" is not a name with stars`, `"rel" depends on where the host was started`} {
		if !strings.Contains(problems, part) {
			t.Errorf("got problems %s\nwant %q in them", problems, part)
		}
	}
	if len(m.Wants) != len(want) || len(m.Problems) != 6 {
		t.Errorf("%d wants, %d problems", len(m.Wants), len(m.Problems))
	}
}

func TestParse_refusesBadManifests(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "this is no Extism manifest: ",
		`[]`:                                     "this is no Extism manifest: ",
		`{}`:                                     `it has no list "wasm"`,
		`{"wasm":null}`:                          `it has no list "wasm"`,
		`{"wasm":[]}`:                            `the manifest names no module: write "wasm": [{"path": "plugin.wasm"}]`,
		`{"wasm":"a.wasm"}`:                      "the manifest's wasm: want a list, but got a string",
		`{"wasm":[{}]}`:                          "this is no Extism manifest: invalid Wasm entry",
		`{"wasm":[{"path":"a.wasm"}],"wasm":[]}`: `duplicate key "wasm"`,
		`{"wasm":[{"path":"a.wasm"}],"config":{"a":"1","a":"2"}}`:                 "the manifest has the key /config/a twice",
		`{"Wasm":[],"wasm":[{"path":"a.wasm"}]}`:                                  `the manifest has the key "Wasm": write "wasm"`,
		`{"wasm":[{"path":"a"},{"path":"b"}]}`:                                    "links 2 modules, which is not served here: give each plugin a manifest of its own, or make one module of main.wasm and lib.wasm with Binaryen: wasm-merge --enable-multimemory main.wasm main lib.wasm lib -o two.wasm && wasm-opt --enable-multimemory --enable-bulk-memory --multi-memory-lowering two.wasm -o plugin.wasm",
		`{"wasm":[{"data":"AGFzbQ="}]}`:                                           "this is no Extism manifest: ",
		`{"wasm":[{"data":""}]}`:                                                  "this is no Extism manifest: invalid Wasm entry",
		`{"wasm":[{"path":"a.wasm"}],"x":"` + strings.Repeat("x", maxRest) + `"}`: "without a module in it over 1 MiB",
		`{"wasm":[{"path":"a.wasm","hash":"beef"}]}`:                              `hash "beef" is not a SHA-256 of 64 hex digits`,
		`{"wasm":[{"path":"a.wasm"}],"timeout_ms":"1"}`:                           "the manifest's timeout_ms: want a whole number, but got a string",
		`{"wasm":[{"path":"a.wasm"}],"timeout_ms":-1}`:                            "the manifest's timeout_ms: want a whole number, but got the number -1",
		`{"wasm":[{"path":"a.wasm"}],"memory":{"max_pages":5e9}}`:                 "the manifest's memory.max_pages: want a whole number, but got the number 5e9",
		`{"wasm":[{"path":"a.wasm"}],"config":{"k":1}}`:                           "the manifest's config: want a text, but got a number",
		`{"wasm":[{"path":"a.wasm"}],"config":` + deep(100_000) + `}`:             "this is no Extism manifest: ",
		`{"wasm":[{"path":"a.wasm"}],"allowed_hosts":[` + hosts(300) + `]}`:       "asks for 300 hosts and paths, at most 256 are read",
		strings.Repeat(" ", maxSize+1):                                            "the manifest is over 43 MiB",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %.200v, want %s", text, err, want)
		}
	}
}

func deep(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

func hosts(n int) string { return strings.TrimSuffix(strings.Repeat(`"a.example",`, n), ",") }

// A pattern that would take exponential time to compile or match is rejected at once.
func TestHostGrant_refusesExpensivePatterns(t *testing.T) {
	for _, host := range []string{
		strings.Repeat("{a,b}", 5000), strings.Repeat("*a", 5000), "{" + strings.Repeat("a,", 9000) + "b}", "[a-", strings.Repeat("?", 9000),
		"", "a/b", "a:b:c", "user@host", "*.*.*.*.1", "\x00",
	} {
		if line, err := HostGrant("GET,POST", host); err == nil {
			t.Errorf("%.40q: got %.80s, want an error", host, line)
		}
	}
	for host, want := range map[string]string{
		"api.example.com": "net: GET,POST https://api.example.com/**", "1.1.1.1": "net: GET,POST https://1.1.1.1/**",
		"api.*.com": "net: GET,POST https://api.*.com/**", "localhost": "net: GET,POST https://localhost/**",
	} {
		if line, err := HostGrant("GET,POST", host); line != want || err != nil {
			t.Errorf("%s: got %s %v, want %v, no error", host, line, err, want)
		}
	}
}

func TestPathGrant_convertsPaths(t *testing.T) {
	for _, c := range []struct{ place, guest, want string }{
		{"/srv", "/srv", "fs: write /srv/**"}, {"ro:/srv/", "", "fs: read /srv/**"}, {"/a*{b}", "/a*{b}", "fs: write /a{*}{{}b{}}/**"},
	} {
		if line, err := PathGrant(c.place, c.guest); line != c.want || err != nil {
			t.Errorf("%s: got %s %v, want %v, no error", c.place, line, err, c.want)
		}
	}
	for _, place := range []string{"", "ro:", ".", "../x", "ro:~/x", `C:\x`} {
		if line, err := PathGrant(place, ""); err == nil {
			t.Errorf("%s: got %s, want an error", place, line)
		}
	}
}

func TestModule_staysInTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	in, manifest := filepath.Join(dir, "in"), filepath.Join(dir, "in", "m.json")
	for link, to := range map[string]string{"up": "..", "out.wasm": "../out.wasm", "loop.wasm": "loop.wasm", "fine.wasm": "sub/fine.wasm"} {
		if err := os.Symlink(to, filepath.Join(in, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"a.wasm", "./a.wasm", "sub/../sub/A.WASM", "fine.wasm", filepath.Join(in, "a.wasm"), "none/x.wasm"} {
		if got, err := (&Manifest{Path: path}).Module(manifest); err != nil || !strings.HasPrefix(got, in) {
			t.Errorf("%s: got %s %v, want a path beginning with %v", path, got, err, in)
		}
	}
	for _, path := range []string{"../a.wasm", "up/a.wasm", "out.wasm", "/etc/a.wasm", "sub/../../a.wasm", "up/none/a.wasm", dir + "/a.wasm"} {
		if got, err := (&Manifest{Path: path}).Module(manifest); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: got %s %v, want ErrOutside", path, got, err)
		}
	}
	if got, err := (&Manifest{Path: "loop.wasm"}).Module(manifest); err != nil || got != filepath.Join(in, "loop.wasm") {
		t.Errorf("a link to itself: got %s, %v; want its own path", got, err) // opening it will fail
	}
	for _, path := range []string{"a", "a.json", "a.wasm\x00.wasm", ".", ".."} {
		if got, err := (&Manifest{Path: path}).Module(manifest); err == nil || errors.Is(err, ErrOutside) {
			t.Errorf("%q: got %s, %v; want an error other than %v", path, got, err, ErrOutside)
		}
	}
	if _, err := (&Manifest{URL: "file:///x.wasm"}).Module(manifest); !errors.Is(err, ErrOutside) {
		t.Error(err)
	}
}

// FuzzParse: for any manifest, the result is within its limits, and its wants can be granted.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"wasm":[{"path":"a.wasm","hash":"` + hash + `"}],"config":{"k":"v"},"memory":{"max_pages":3},"timeout_ms":1}`))
	f.Add([]byte(`{"wasm":[{"url":"https://x.example"}],"allowed_hosts":["*.a.example","{a,b}"],"allowed_paths":{"ro:/a*":"/b"}}`))
	f.Add([]byte(`{"wasm":[{"path":"../../x.wasm"}],"timeout_ms":18446744073709551615,"memory":{"max_pages":4294967295}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Parse(raw)
		if err != nil {
			return
		}
		if m.Timeout < 0 || m.Memory > 1<<48 || m.Digest != "" && len(m.Digest) != 71 {
			t.Errorf("got %+v, want a timeout, memory and digest within their bounds", m)
		}
		for _, w := range m.Wants {
			for _, family := range []string{"net", "fs"} {
				line, ok := jsonraw.String(jsonraw.Get(w, family))
				if !ok {
					continue
				}
				if _, err := grant.ParseLine(family + ": " + line); err != nil {
					t.Errorf("%s: got %v, want no error", w, err)
				}
			}
		}
		if path, err := m.Module("/nowhere/at/all/m.json"); err == nil && !strings.HasPrefix(path, "/nowhere/at/all/") {
			t.Errorf("got module %s, want it below /nowhere/at/all", path)
		}
	})
}
