package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// The tests of this package drive the program as a user does: the test binary is also the program (see TestMain), the
// plugins are built by make, and the clients are real ones.

// asProgram is the variable that makes the test binary run as the program.
const asProgram = "SALLYPORT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(main1())
	}
	testscript.Main(m, map[string]func(){"sallyport": func() { os.Exit(main1()) }})
}

// program returns a command of the program, with its own configuration.
func program(t *testing.T, config string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "sallyport.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--config", file, "--state", filepath.Join(sharedState(t), "state"))...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+dir, lockVariable+"="+sharedLock(t, args))
	return cmd
}

// put replaces a file atomically.
func put(t *testing.T, file string, content []byte) {
	t.Helper()
	temp := filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, file); err != nil {
		t.Fatal(err)
	}
}

// modern returns a request of the latest revision, which needs no session.
func modern(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// lockVariable sets the lock file.
const lockVariable = "SALLYPORT_LOCK"

// sharedLock returns a separate lock file for each plugin folder in the shared state folder, since tests use the same
// plugin names.
func sharedLock(t *testing.T, args []string) string {
	of := t.Name()
	for _, a := range args {
		if info, err := os.Stat(a); err == nil && info.IsDir() {
			of = a
		}
	}
	return filepath.Join(sharedState(t), "locks", fmt.Sprintf("%x.lock", sha256.Sum256([]byte(of))))
}

// sharedState returns the state folder of all tests, so that each plugin is compiled once.
var sharedState = func() func(*testing.T) string {
	var once sync.Once
	var dir string
	return func(t *testing.T) string {
		once.Do(func() {
			dir = filepath.Join("..", "..", "build", "test")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			dir, _ = filepath.Abs(dir)
			for _, pins := range []string{"locks", filepath.Join("state", "sallyport.lock")} { // of plugins that may have been rebuilt
				if err := os.RemoveAll(filepath.Join(dir, pins)); err != nil {
					t.Fatal(err)
				}
			}
		})
		return dir
	}
}()

// bundled returns the file of a plugin built by make.
func bundled(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "..", "build", "plugins", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("plugin: got %v, want it built (make plugins)", err)
	}
	return file
}

// unpacked builds the guest in testdata/NAME, once.
var unpacked = once(func(t *testing.T, name string) string {
	out := filepath.Join(sharedState(t), "unpacked", name+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: got %v, want success: %s", name, err, text)
	}
	return out
})

// guest returns the guest in testdata/NAME, packed: it is listed without being compiled.
var guest = once(func(t *testing.T, name string) string {
	wasm, err := os.ReadFile(unpacked(t, name))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(sharedState(t), name+".wasm")
	if err := os.WriteFile(out, wasm, 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := program(t, "", "pack", out).CombinedOutput(); err != nil {
		t.Fatalf("pack: got %v, want success: %s", err, text)
	}
	return out
})

// once caches the result of f by name.
func once(f func(*testing.T, string) string) func(*testing.T, string) string {
	var mu sync.Mutex
	made := map[string]string{}
	return func(t *testing.T, name string) string {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if made[name] == "" {
			made[name] = f(t, name)
		}
		return made[name]
	}
}

// folder creates a plugin folder with copies of files.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// connect connects the official SDK's client to the program on stdio.
func connect(t *testing.T, config, dir string) *mcp.ClientSession {
	t.Helper()
	return session(t, commandTransport(program(t, config, "serve", dir)), nil)
}

// session returns a client session that ends with the test.
func session(t *testing.T, transport mcp.Transport, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s, err := client.Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: got %v, want success", err)
		}
	})
	return s
}

// text returns the text of a result, with its blocks joined by line ends.
func text(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// kindOf returns the machine-readable kind of a failed result, "" if none.
func kindOf(r *mcp.CallToolResult) string {
	data, _ := r.Meta["dev.sallyport/error"].(map[string]any)
	kind, _ := data["kind"].(string)
	return kind
}

// call calls a tool, and fails the test on a protocol error.
func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: got %v, want a result", tool, err)
	}
	return r
}

// unhurried is call for a tool whose end is not the deadline, unless that is the kind it wants: if the deadline is short, a
// busy machine can reach it first, and the call is made again.
func unhurried(t *testing.T, s *mcp.ClientSession, kind, tool string, args map[string]any) (r *mcp.CallToolResult) {
	t.Helper()
	for range 20 {
		if r = call(t, s, tool, args); kindOf(r) != "deadline" || kind == "deadline" {
			break
		}
	}
	return r
}

// modernRequest returns an HTTP request with the headers of protocol revision 2026-07-28. name is that of a tool, prompt
// or task, "" for none.
func modernRequest(url, method, name string, body []byte) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	return r, nil
}

// piped starts a program with pipes for its standard input and output. It sends no signal at the end.
func piped(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// servingOn matches the program's output when its listener is open.
var servingOn = regexp.MustCompile(`serving .* on (http\S+)`)

// serveURL starts the program on HTTP and returns the address of its endpoint.
func serveURL(t *testing.T, config string, args ...string) string {
	t.Helper()
	return serveCommand(t, program(t, config, append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...))
}

// serveCommand starts the program and returns the address of its endpoint.
func serveCommand(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	return serveWatched(t, cmd, func(string) {})
}

// serveWatched is serveCommand with a function that gets each line of the program's standard error.
func serveWatched(t *testing.T, cmd *exec.Cmd, line func(string)) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, seen := make(chan string, 1), make(chan struct{})
	go func() { // ends with the program's standard error
		defer close(seen)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			line(lines.Text())
			if m := servingOn.FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
			t.Log(lines.Text())
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		<-seen
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: got %v, want success", err)
		}
	})
	select {
	case u := <-url:
		return u
	case <-seen:
		t.Fatalf("serve: got its end, want an address")
	case <-time.After(60 * time.Second):
		t.Fatalf("serve: got no address in 60 s, want one")
	}
	return ""
}

// bearer adds a token to every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
