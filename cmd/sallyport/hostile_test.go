//go:build linux

package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// The tests of this file attack the program with a guest that tries to escape or to do harm (testdata/hostile). Those
// in hostileclient_test.go do so with a client.

// hostile returns a session with the hostile guest, and the host process.
func hostile(t *testing.T, config string, files ...string) (*mcp.ClientSession, *exec.Cmd) {
	t.Helper()
	if files == nil {
		files = []string{guest(t, "hostile")}
	}
	dir := folder(t, files...)
	if out, err := program(t, "", "list", dir).CombinedOutput(); err != nil { // compiled from here on
		t.Fatalf("list: got %v, want success: %s", err, out)
	}
	cmd := program(t, config, "serve", dir)
	return session(t, commandTransport(cmd), nil), cmd
}

// peak returns the peak memory of a process, in MiB.
func peak(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kib int
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Sscan(after, &kib)
	return kib >> 10
}

// wantPeak fails if the peak memory of the process exceeds mib.
func wantPeak(t *testing.T, cmd *exec.Cmd, mib int) {
	t.Helper()
	got := peak(t, cmd)
	t.Logf("at most %d MiB", got)
	if got > mib {
		t.Errorf("the host had %d MiB, want at most %d", got, mib)
	}
}

// outcome returns the text of a call, or the kind of its error.
func outcome(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	begin := time.Now()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "hostile-" + tool, Arguments: args})
	var got string
	switch {
	case err != nil:
		got = "error " + err.Error()
	case kindOf(r) != "":
		got = kindOf(r)
	default:
		got = text(r)
	}
	t.Logf("%-10s %-60.60q %6d ms  %.100q", tool, fmt.Sprint(args), time.Since(begin).Milliseconds(), got)
	if next := text(unhurried(t, s, "", "hostile-fine", map[string]any{"text": "next"})); next != "next" {
		t.Errorf("after %s: got %q, want next", tool, next)
	}
	return got
}

func TestHostile_filesStayInTheirGrants(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "w")
	open := filepath.Join(root, "open")
	for _, dir := range []string{filepath.Join(open, "huge"), filepath.Join(root, "out")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path, s string) {
		if err := os.WriteFile(filepath.Join(root, path), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("secret.txt", "secret")
	put("open/hello.txt", "hello")
	for i := range 5000 {
		put(fmt.Sprintf("open/huge/%d", i), "")
	}
	for name, to := range map[string]string{
		"open/up": "../secret.txt", "open/abs": "/etc/passwd", "open/in": "hello.txt", "open/loop": "loop",
		"open/device": "/dev/zero", "out/write-up": "../secret.txt",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(open, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := hostile(t, fmt.Sprintf("plugins: {hostile: {grants: [fs: read %[1]s/open/**, fs: write %[1]s/out/**]}}", root))
	got := outcome(t, s, "files", map[string]any{"text": root})
	if got != filesOutcome {
		t.Errorf("files: got\n%s\nwant\n%s", got, filesOutcome)
	}
	for file, want := range map[string]string{"secret.txt": "secret", "open/hello.txt": "hello", "out/up": "x"} {
		if b, err := os.ReadFile(filepath.Join(root, file)); string(b) != want {
			t.Errorf("%s: got %q, %v, want %v", file, b, err, want)
		}
	}
}

// filesOutcome is the guest's report of its attempts, in order.
const filesOutcome = `granted: read hello
dot dot: No such file or directory
dot dot within a file: No such file or directory
absolute: No such file or directory
proc: No such file or directory
proc fd: No such file or directory
dev: No such file or directory
operator's link out: No such file or directory
operator's absolute link: No such file or directory
operator's link in: read hello
loop of links: Too many symbolic links
fifo: Permission denied
device by link: No such file or directory
NUL: Invalid argument
case: No such file or directory
trailing slash: Not a directory
long name: File name too long
long path: File name too long
many dots: No such file or directory
another spelling: read hello
list the folder above [d open/ d out/]: ok
write what may be read: Permission denied
truncate what may be read: Permission denied
chtimes what may be read: Permission denied
remove what may be read: Permission denied
still there: read hello
write: ok
link to outside: Operation not permitted
through it: No such file or directory
link upwards: Operation not permitted
through it too: No such file or directory
write through a link: ok
write through the operator's link: No such file or directory
hard link out: No such file or directory
hard link to what may be read: Permission denied
rename what may be read: Permission denied
rename out: Read-only file system
rename over what may be read: Permission denied
mkdir: ok
rename a folder into itself: Invalid argument
git hook: Permission denied
ssh: No such file or directory
mcp: Permission denied
petabyte: No space left on device
huge folder of 5000: ok
open below 0: Not a directory
open below 1: Not a directory
open below 2: Not a directory
open below -1: Bad file number
open an absolute path: Operation not permitted
open below the folder: errno 0
open below a file: Not a directory
renumber to 2^30: Bad file number
renumber to -1: Bad file number
renumber over the root: errno 0
open below what was the root: Not a directory
close it: errno 0
open below it: Bad file number`

func TestHostile_racesReachNoOtherFile(t *testing.T) {
	root := t.TempDir()
	open := filepath.Join(root, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(root, "secret.txt"), []byte("secret"), 0o644)
	os.MkdirAll(filepath.Join(root, "closed"), 0o755)
	os.WriteFile(filepath.Join(root, "closed", "file"), []byte("secret"), 0o644)
	os.MkdirAll(filepath.Join(open, "real"), 0o755)
	os.WriteFile(filepath.Join(open, "real", "file"), []byte("fine"), 0o644)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // like a process of the operator, or of another user with write access
		defer close(stopped)
		for file, dir, tmp := filepath.Join(open, "file"), filepath.Join(open, "dir"), filepath.Join(open, "tmp"); ; {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(tmp, []byte("fine"), 0o644)
			os.Rename(tmp, file)
			os.Symlink("real", tmp)
			os.Rename(tmp, dir)
			os.Symlink("../secret.txt", tmp)
			os.Rename(tmp, file)
			os.Symlink("../closed", tmp)
			os.Rename(tmp, dir)
		}
	}()
	defer func() { close(stop); <-stopped }()
	s, _ := hostile(t, "plugins: {hostile: {grants: [fs: read "+open+"/**]}}")
	for _, file := range []string{"file", "dir/file"} {
		var got string
		for range 100 { // until the other program runs between two reads
			got = outcome(t, s, "race", map[string]any{"text": filepath.Join(open, file), "n": 1000})
			if strings.Contains(got, "secret") || strings.Contains(got, "fine") {
				break
			}
		}
		if strings.Contains(got, "secret") || !strings.Contains(got, "fine") {
			t.Errorf("%s: got %s, want %q in it", file, got, "fine")
		}
	}
}

// site is a local server that misbehaves.
func site(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("u"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for b := make([]byte, 1<<20); r.Context().Err() == nil; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for b, n := make([]byte, 1<<20), 0; n < 200; n++ {
			z.Write(b)
		}
		z.Close()
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		for i := range 1000 {
			w.Header().Set(fmt.Sprint("H", i), strings.Repeat("x", 1000))
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestHostile_requestsStayInTheirGrants(t *testing.T) {
	t.Parallel()
	base := site(t)
	port := base[strings.LastIndex(base, ":")+1:]
	grants := "[net: GET " + base + "/**, net: GET http://*.test/**, net: GET http://**:" + port + "/**]"
	s, cmd := hostile(t, "plugins: {hostile: {limits: {deadline: 60s}, grants: "+grants+"}}")
	get := func(url string) string { return fmt.Sprintf(`{"method":"http/fetch","params":{"url":%q}}`, url) }
	for _, c := range [][3]string{
		{"fetch", get(base + "/ok"), `200`},
		{"fetch", get("http://localhost:" + port + "/ok"), `denied`},
		{"fetch", get("http://LOCALHOST.:" + port + "/ok"), `denied`},
		{"fetch", get("http://2130706433:" + port + "/ok"), `invalid`},
		{"fetch", get("http://0x7f000001:" + port + "/ok"), `invalid`},
		{"fetch", get("http://0177.0.0.1:" + port + "/ok"), `invalid`},
		{"fetch", get("http://127.1:" + port + "/ok"), `invalid`},
		{"fetch", get("http://127.0.0.2:" + port + "/ok"), `denied`},
		{"fetch", get("http://0.0.0.0:" + port + "/ok"), `denied`},
		{"fetch", get("http://[::1]:" + port + "/ok"), `denied`},
		{"fetch", get("http://[::ffff:127.0.0.1]:" + port + "/ok"), `denied`},
		{"fetch", get("http://[::ffff:7f00:1]:" + port + "/ok"), `denied`},
		{"fetch", get("http://[::]:" + port + "/ok"), `denied`},
		{"fetch", get("http://[fe80::1%25lo]:" + port + "/ok"), `invalid`},
		{"fetch", get("http://①②⑦.⓪.⓪.②:" + port + "/ok"), `denied`},
		{"fetch", get("http://169.254.169.254:" + port + "/latest/meta-data"), `denied`},
		{"fetch", get("http://127.0.0.1:" + port + "@evil.test/"), `invalid`},
		{"fetch", get("http://evil.test@127.0.0.1:" + port + "/ok"), `invalid`},
		{"fetch", get("http://127.0.0.1:" + port + "\\@evil.test/"), `invalid`},
		{"fetch", get("http://127.0.0.1:" + port + "/ok\r\nX: y"), `invalid`},
		{"fetch", get("http://127.0.0.1:99999/"), `invalid`},
		{"fetch", get("file:///etc/passwd"), `invalid`},
		{"fetch", get("gopher://127.0.0.1/"), `invalid`},
		{"fetch", get("//127.0.0.1/"), `invalid`},
		{"fetch", get(base + "/to?u=http://localhost:" + port + "/ok"), `denied`},
		{"fetch", get(base + "/to?u=http://169.254.169.254:" + port + "/"), `denied`},
		{"fetch", get(base + "/to?u=http://127.0.0.1:1/"), `denied`},
		{"fetch", get(base + "/to?u=file:///etc/passwd"), `invalid`},
		{"fetch", get(base + "/to?u=/to"), `302`},
		{"fetch", fmt.Sprintf(`{"method":"http/fetch","params":{"url":%q,"headers":{"Host":"evil"}}}`, base+"/ok"), `invalid`},
		{"fetch", fmt.Sprintf(`{"method":"http/fetch","params":{"url":%q,"headers":{"Transfer-Encoding":"chunked"}}}`, base+"/ok"), `invalid`},
		{"fetch", fmt.Sprintf(`{"method":"http/fetch","params":{"url":%q,"headers":{"X":"a\r\nHost: evil"}}}`, base+"/ok"), `invalid`},
		{"fetch", fmt.Sprintf(`{"method":"http/fetch","params":{"url":%q,"method":"CONNECT"}}`, base+"/ok"), `invalid`},
		{"fetch", fmt.Sprintf(`{"method":"http/fetch","params":{"url":%q,"body":{"dev.sallyport/stream":0}}}`, base+"/ok"), `invalid`},
		{"fetch", fmt.Sprintf(`{"method":"http/fetch","params":{"url":%q,"body":{"dev.sallyport/stream":99}}}`, base+"/ok"), `invalid`},
		{"fetch", get(base + "/headers"), `unavailable`},
		{"drain", get(base + "/endless"), "64 MiB, then -29"},
		{"drain", get(base + "/bomb"), "64 MiB, then -29"},
	} {
		args := map[string]any{"text": c[1]}
		if got := outcome(t, s, c[0], args); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if got := outcome(t, s, "flight", map[string]any{"text": get(base + "/endless"), "n": 10_000}); got != "16 open, refused map[limit:9984]" {
		t.Errorf("in flight: got %s, want 16 open and 9984 limits", got)
	}
	wantPeak(t, cmd, 400)
	s, _ = hostile(t, "plugins: {hostile: {limits: {deadline: 2s}, grants: "+grants+"}}")
	if got := outcome(t, s, "drain", map[string]any{"text": get(base + "/slow")}); got != "deadline" {
		t.Errorf("a body that never ends: got %s, want deadline", got)
	}
}

// edgesOutcome is the result of imports called with arguments that no normal program uses.
const edgesOutcome = `read at the end of memory=-21
read of 4 GiB=-21
read of 2 GiB=-21
read of nothing outside=-21
read of the response=-8
read of stream 2=-8
read of stream -1=-8
write of 4 GiB=-21
write past the end=-21
write to the request=-8
write to stream -1=-8
call past the end=-21
call of 4 GiB=-21
close of 0=-8
close of 1=-8
close of -1=-8
ask ""=invalid
ask "null"=invalid
ask "[]"=[]
ask "{}"=invalid
ask "{\"method\":5}"=invalid
ask "{\"method\":\"x\"}"=unsupported
ask "{\"method\":\"x\",\"method\":\"y\"}"=invalid
ask "{\"method\":\"x\",\"params\":[]}"=invalid
ask "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["=invalid
ask "{\"method\":\"stream/open\",\"param"=invalid
ask "{\"method\":\"stream/open\",\"param"=invalid
ask "{\"method\":\"stream/open\",\"param"=invalid
ask "{\"method\":\"tools/call\",\"params"=invalid
ask "                              "=limit`

func TestHostile_brokenMessagesAreErrors(t *testing.T) {
	t.Parallel()
	s, cmd := hostile(t, "plugins: {hostile: {limits: {deadline: 60s}}}")
	if got := outcome(t, s, "edges", nil); got != edgesOutcome {
		t.Errorf("edges: got\n%s\nwant\n%s", got, edgesOutcome)
	}
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"streams", nil, "63 opened, 8 MiB held, false"},
		{"streams", map[string]any{"text": "2"}, "guest"},
		{"streams", map[string]any{"text": "0"}, "guest"},
		{"streams", map[string]any{"text": "1"}, "guest"},
		{"streams", map[string]any{"text": "-1"}, "guest"},
		{"streams", map[string]any{"text": "4294967296"}, "guest"},
		{"raw", map[string]any{"text": ""}, "guest"},
		{"raw", map[string]any{"text": "null"}, "guest"},
		{"raw", map[string]any{"text": `{"result":{"content":[]},"error":{"code":1,"message":"x"}}`}, "guest"},
		{"raw", map[string]any{"text": `{"result":{"content":[]},"result":{"content":[]}}`}, "guest"},
		{"raw", map[string]any{"text": `{"id":NaN,"result":{"content":[]}}`}, "guest"},
		{"raw", map[string]any{"text": `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`}, ""},
		{"raw", map[string]any{"text": `{"result":{"content":[]}} {"jsonrpc":"2.0","id":1,"result":{}}`}, "guest"},
		{"raw", map[string]any{"text": "{\"result\":{\"content\":[\r\n\r\n]\r,\n\"x\":\r1}}"}, ""},
		{"raw", map[string]any{"text": `{"result":{"content":[],"content":[{"type":"text","text":"b"}]}}`}, "guest"},
		{"raw", map[string]any{"text": `{"result":{"content":[],"structuredContent":` + deep + `}}`}, "guest"},
		{"raw", map[string]any{"text": `{"result":{"content":[{"type":"text","text":"a","text":"b"}]}}`}, "guest"},
		{"raw", map[string]any{"text": `{"result":{"content":[{"type":"text","text":"\ud800"}]}}`}, "�"},
		{"raw", map[string]any{"text": `{"result":{"content":[{"type":"text","text":"` + "\x00" + `"}]}}`}, "guest"},
		{"raw", map[string]any{"text": `{"result":{"content":[],"x":1e99999}}`}, ""},
		{"raw", map[string]any{"text": `{"error":{"code":1e3,"message":"x"}}`}, "guest"},
		{"raw", map[string]any{"text": `{"error":{"code":-32700,"message":"x","data":` + deep + `}}`}, "guest"},
		{"raw", map[string]any{"text": `{"error":{"code":5,"message":"` + strings.Repeat("m", 100_000) + `"}}`}, `error calling "tools/call": ` + strings.Repeat("m", 16<<10) + "…"},
		{"bytes", map[string]any{"text": `{"result":`, "n": 200_000}, "guest"},
		{"bytes", map[string]any{"text": `{"result":`, "n": 9_000_000}, "limit"},
		{"typed", map[string]any{"text": `{"result":{"structuredContent":{"n":1}}}`}, `{"n":1}`},
		{"typed", map[string]any{"text": `{"result":{"structuredContent":{"n":1,"n":"x"}}}`}, "guest"},
		{"typed", map[string]any{"text": `{"result":{"structuredContent":{"n":"x","n":1}}}`}, "guest"},
		{"round", map[string]any{"n": 64}, `[{"result":{}},{"result":{}},{"result":{}},{"result":{}},{"r`},
		{"round", map[string]any{"n": 65}, `{"error":{"code":-32000,"message":"a round has 65 requests, `},
		{"round", map[string]any{"n": 10_000}, `{"error":{"code":-32000,"message":"a round has 10000 request`},
		{"grow", map[string]any{"n": 40}, "40"},
		{"grow", map[string]any{"n": 1000}, "trap"},
		{"log", map[string]any{"n": 50_000}, "done"},
		{"progress", map[string]any{"n": 20_000}, "done"},
		{"denials", map[string]any{"n": 10_000}, "denied"},
		{"stderr", map[string]any{"n": 1000}, "done"},
	} {
		if got := outcome(t, s, c.tool, c.args); got != c.want {
			t.Errorf("%s %.60v: %.200q, want %q", c.tool, c.args, got, c.want)
		}
	}
	wantPeak(t, cmd, 512)
	s, _ = hostile(t, "plugins: {hostile: {limits: {deadline: 2s}}}")
	for tool, want := range map[string]string{"again": "deadline", "stack": "trap"} {
		got := outcome(t, s, tool, nil)
		for range 20 { // the machine can be slower than the deadline
			if got == want || got != "deadline" {
				break
			}
			got = outcome(t, s, tool, nil)
		}
		if got != want {
			t.Errorf("%s: got %s, want %v", tool, got, want)
		}
	}
}

// descriptions are hostile plugin descriptions, with the message to the operator and the published tools.
var descriptions = map[string]struct {
	module func() *wasmtest.Module
	want   string
	tools  []string
}{
	"loop": {func() *wasmtest.Module {
		var m wasmtest.Module
		m.Export("mcp_handle", m.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32}, nil, wasmtest.LoopVoid, wasmtest.Br(0), wasmtest.End, wasmtest.I32Const(0)))
		return &m
	}, "plugin/describe: deadline: the guest did not describe itself within 10s", nil},
	"serveless": {func() *wasmtest.Module {
		var m wasmtest.Module
		m.Export("mcp_handle", m.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32}, nil, wasmtest.I32Const(28)))
		return &m
	}, "plugin/describe: guest: the guest serves no plugin: it ended with error 28 before it described itself; a plugin in Go calls Serve in an init function", nil},
	"trap": {func() *wasmtest.Module {
		var m wasmtest.Module
		m.Export("mcp_handle", m.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32}, nil, wasmtest.Unreachable))
		return &m
	}, "plugin/describe: trap: the guest trapped: unreachable", nil},
	"huge": {func() *wasmtest.Module {
		return wasmtest.Answering(`{"result":{"name":"` + strings.Repeat("x", 9<<20) + `"}}`)
	},
		"plugin/describe: limit: the answer is over the limit of 8388608 bytes", nil},
	"nested": {func() *wasmtest.Module {
		return wasmtest.Answering(`{"result":{"x":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}}`)
	}, "plugin/describe: guest: the guest's answer is not a JSON object: json: nesting deeper than 512 at offset 525", nil},
	"many": {func() *wasmtest.Module {
		return wasmtest.Answering(`{"result":{"tools":[` + strings.Repeat(`{"name":"t","inputSchema":{"type":"object"}},`, 9_999) + `{}]}}`)
	}, "manifest: tools: over 4096 entries", nil},
	"error": {func() *wasmtest.Module { return wasmtest.Answering(`{"error":{"code":1,"message":"\u001b[2Jno"}}`) },
		`plugin/describe: guest error 1: \x1b[2Jno`, nil},
	"names": {func() *wasmtest.Module {
		var list []string
		for _, n := range []string{"a\x1b[2J", "a\u202eb", "a\nb", "", strings.Repeat("n", 2000), "../x", "tool\x00", "misbehave-fine", "ok", "ok"} {
			quoted, _ := json.Marshal(n)
			list = append(list, `{"name":`+string(quoted)+`,"inputSchema":{"type":"object"}}`)
		}
		return wasmtest.Answering(`{"result":{"tools":[` + strings.Join(list, ",") + `]}}`)
	}, `warning: tool "ok" is left out: it is there already`,
		[]string{"names-___x", "names-misbehave-fine", "names-ok"}},
	"schemas": {func() *wasmtest.Module {
		var list []string
		for name, s := range map[string]string{
			"external": `{"type":"object","$ref":"file:///etc/passwd"}`,
			"remote":   `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`,
			"circle":   `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
			"redos":    `{"type":"object","properties":{"text":{"type":"string","pattern":"^(a+)+$"}}}`,
			"deep":     `{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 200) + `{}` + strings.Repeat(`}}`, 200) + `}`,
			"string":   `"x"`, "boom": `{"type":"object","allOf":[` + strings.Repeat(`{"anyOf":[{},{}]},`, 14_000) + `{}]}`,
		} {
			list = append(list, `{"name":"`+name+`","inputSchema":`+s+`}`)
		}
		return wasmtest.Answering(`{"result":{"tools":[` + strings.Join(list, ",") + `]}}`)
	}, "warning: tool", []string{"schemas-circle", "schemas-redos"}},
}

func TestHostile_manifestsAreChecked(t *testing.T) {
	t.Parallel()
	dir := folder(t, guest(t, "misbehave"))
	for name, d := range descriptions {
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), d.module().Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "zeros.wasm"), make([]byte, 1<<20), 0o644)
	os.WriteFile(filepath.Join(dir, "empty.wasm"), nil, 0o644)
	begin := time.Now()
	out, err := program(t, "", "list", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("list: got %v, want success: %s", err, out)
	}
	t.Logf("list after %v\n%s", time.Since(begin), out)
	var tools []string
	for name, d := range descriptions {
		if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), d.want) { // lines are wrapped
			t.Errorf("%s: not said: %s", name, d.want)
		}
		tools = append(tools, d.tools...)
	}
	s := connect(t, "", dir)
	if got := text(call(t, s, "misbehave-fine", map[string]any{"text": "still here"})); got != "still here" {
		t.Errorf("got %q, want %q", got, "still here")
	}
	var got []string
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(tool.Name, "misbehave-") {
			got = append(got, tool.Name)
		}
	}
	if slices.Sort(tools); !slices.Equal(got, tools) {
		t.Errorf("published: %q, want %q", got, tools)
	}
	for tool, text := range map[string]string{"redos": strings.Repeat("a", 50_000) + "!", "circle": ""} {
		if r := call(t, s, "schemas-"+tool, map[string]any{"text": text}); kindOf(r) != "invalid" {
			t.Errorf("%s: got an error of kind %q, want invalid", tool, kindOf(r))
		}
	}
}

// The memory of all calls together is bounded by the number of running calls.
func TestHostile_memoryIsBoundedByRunningCalls(t *testing.T) {
	s, cmd := hostile(t, "plugins: {hostile: {limits: {deadline: 20s, concurrency: 4}}}")
	ends := map[string]int{}
	results := make(chan string)
	for range 16 {
		go func() {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "hostile-grow", Arguments: map[string]any{"n": 1000}})
			if err != nil {
				results <- err.Error()
				return
			}
			results <- kindOf(r)
		}()
	}
	for range 16 {
		ends[<-results]++
	}
	if ends["trap"]+ends["exit"] != 16 {
		t.Errorf("got ends %v, want 16 traps and exits", ends)
	}
	wantPeak(t, cmd, 1024)
}
