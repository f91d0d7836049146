//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const fetcherTool = `tools:
  - name: fetch
    inputSchema:
      type: object
      properties: {how: {type: string}, method: {type: string}, url: {type: string}, size: {type: integer}}
      required: [how, method, url, size]
    args: ["{how}", "{method}", "{url}", "{size}"]
`

// fetcher builds testdata/fetcher natively, and with sallyport build in a plugin folder.
func fetcher(t *testing.T) (dir, native string) {
	t.Helper()
	dir, native = t.TempDir(), filepath.Join(t.TempDir(), "fetcher")
	if text, err := exec.Command("go", "build", "-o", native, "./testdata/fetcher").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if text, err := program(t, "", "build", "--go", "./testdata/fetcher", "-o", filepath.Join(dir, "fetcher.wasm")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := os.WriteFile(filepath.Join(dir, "fetcher.tool.yaml"), []byte(fetcherTool), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, native
}

// recorder is a server that keeps the requests that it received.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

// newRecorder returns a server on loopback. Its redirects go to a path of another one.
func newRecorder(t *testing.T, other string) *recorder {
	t.Helper()
	r := &recorder{}
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, req *http.Request) {
		w.Header()["X-Two"] = []string{"1", "2"}
		_, _ = io.Copy(w, req.Body)
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/chunks", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = w.Write(make([]byte, 10000))
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("half"))
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Accept-Encoding") != "gzip" {
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(bytes.Repeat([]byte("text"), 1000))
		_ = z.Close()
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	mux.HandleFunc("/begins", func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte("begins"))
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other+"/echo", http.StatusFound)
	})
	mux.HandleFunc("/again", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/echo", http.StatusTemporaryRedirect)
	})
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.seen = append(r.seen, fmt.Sprintf("%s %s %v %q %q %d %x", req.Method, req.URL, req.Header["X-Two"], req.UserAgent(), req.Header["Accept-Encoding"], len(body), sha256.Sum256(body)))
		r.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		mux.ServeHTTP(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns and forgets the requests.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.seen, "\n")
	r.seen = nil
	return all
}

func fetched(t *testing.T, s *mcp.ClientSession, how, method, url string, size int) string {
	t.Helper()
	return text(call(t, s, "fetcher-fetch", map[string]any{"how": how, "method": method, "url": url, "size": size}))
}

func TestBuild_givesProgramsHTTPUnderTheirGrants(t *testing.T) {
	t.Parallel()
	dir, native := fetcher(t)
	t.Run("as natively", func(t *testing.T) { fetchAsNatively(t, dir, native) })
	t.Run("denied", func(t *testing.T) { denyFetches(t, dir) })
	out, err := program(t, "", "inspect", filepath.Join(dir, "fetcher.wasm")).CombinedOutput()
	if want := "built from github.com/sallyport-mcp/sallyport/cmd/sallyport/testdata/fetcher"; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("inspect: got %v %s, want %s", err, out, want)
	}
}

// fetchAsNatively compares responses, and the requests that arrive.
func fetchAsNatively(t *testing.T, dir, native string) {
	other := newRecorder(t, "")
	server := newRecorder(t, other.URL)
	s := connect(t, fmt.Sprintf("plugins: {fetcher: {grants: ['net: GET,HEAD,POST,PUT %s/**', 'net: GET %s/**']}}", server.URL, other.URL), dir)
	for _, c := range []struct {
		how, method, path string
		size              int
	}{
		{"plain", "GET", "/echo?q=1&r=%20#part", 0},
		{"plain", "HEAD", "/echo", 0},
		{"plain", "GET", "/empty", 0},
		{"plain", "GET", "/chunks", 0},
		{"plain", "GET", "/short", 0},
		{"plain", "GET", "/gzip", 0},
		{"plain", "GET", "/none", 0},
		{"plain", "POST", "/echo", 1 << 20},
		{"plain", "PUT", "/echo", 5},
		{"plain", "GET", "/away", 0},
		{"stay", "GET", "/away", 0},
		{"plain", "POST", "/away", 7},
		{"plain", "POST", "/again", 7},
		{"cancelled", "GET", "/echo", 0},
		{"timeout", "GET", "/slow", 0},
		{"timeout", "GET", "/begins", 0},
	} {
		url := server.URL + c.path
		out, err := exec.Command(native, c.how, c.method, url, fmt.Sprint(c.size)).Output()
		if err != nil {
			t.Fatal(err)
		}
		wantSeen := server.take() + "\n" + other.take()
		got := fetched(t, s, c.how, c.method, url, c.size)
		if seen := server.take() + "\n" + other.take(); got != string(out) || seen != wantSeen {
			t.Errorf("%v:\n got %s%s\nwant %s%s", c, got, seen, out, wantSeen)
		}
	}
}

// denyFetches checks that a request, and the redirect of one that is granted, is denied with the line that would allow it.
func denyFetches(t *testing.T, dir string) {
	other := newRecorder(t, "")
	server := newRecorder(t, other.URL)
	s := connect(t, fmt.Sprintf("plugins: {fetcher: {grants: ['net: GET %s/away']}}", server.URL), dir)
	for path, to := range map[string]string{"/echo": server.URL, "/away": other.URL} {
		got := fetched(t, s, "deny", "GET", server.URL+path, 0)
		for _, want := range []string{`plugin "fetcher" may not GET ` + to + "/echo: no grant allows it", "net: GET " + to + "/echo?"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", path, got, want)
			}
		}
	}
	if seen := other.take(); seen != "" {
		t.Errorf("the target of a redirect that is not granted: got %s, want no request", seen)
	}
}

func TestBuild_refusesWhatItCannotBuild(t *testing.T) {
	t.Parallel()
	broken := writeFiles(t, "go.mod", "module example.com/broken\n\ngo 1.25\n",
		"main.go", "package main\n\nimport \"syscall\"\n\nfunc main() { _ = syscall.Mmap }\n")
	for args, want := range map[string]string{
		"--go example.com/tool":          "example.com/tool: no folder, and no package with a version such as example.com/cmd/tool@v1.2.3 hint: sallyport build --go example.com/tool@latest",
		"--go ..":                        "hint: its programs are github.com/sallyport-mcp/sallyport/cmd/bench",
		"--go ./internal/gobuild":        "is package gobuild and no program",
		"--go " + broken:                 "compiling example.com/broken for WASI",
		"--go  " + broken:                "example.com/broken does not compile for WASI: go build: exit status 1 hint: the lines above",
		"--go . -o testdata/none/x.wasm": "testdata/none/x.wasm: its folder does not exist hint: mkdir testdata/none",
		"example.com/tool@v1.2.3":        "it is no script: those end in .ts, .js or .py hint: sallyport build --go example.com/tool@v1.2.3",
		"testdata":                       "hint: sallyport build --go testdata",
		"main.go":                        "hint: sallyport build --go DIR",
		"tool.rs":                        "hint: cargo build --target wasm32-wasip1",
		"tool.c":                         "hint: clang --target=wasm32-wasip1",
	} {
		out, err := program(t, "", append([]string{"build"}, strings.Fields(args)...)...).CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err == nil || !strings.Contains(got, want) {
			t.Errorf("build %s: got %v %s, want %s", args, err, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := program(t, "", "build", "--go", "./testdata/fetcher", "-o", file).CombinedOutput()
	if got, _ := os.ReadFile(file); err == nil || string(got) != "mine" {
		t.Errorf("got %v %s, want the file kept", err, out)
	}
}
