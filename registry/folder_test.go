package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	spruntime "github.com/sallyport-mcp/sallyport/runtime"
)

// progress is a request that blocks a guest in its client.
const progress = `{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`

func has(r *Registry, tool string) bool {
	_, ok := r.Snapshot().Tool(tool)
	return ok
}

func TestFolder_addsReplacesAndRemoves(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(t, dir))
	if len(r.Snapshot().Tools) != 0 {
		t.Fatalf("got tools %q, want none", toolNames(r.Snapshot()))
	}
	path := guest{manifest: tools("one"), answer: says("1")}.write(t, dir, "p.wasm")
	eventually(t, "added", func() bool { return has(r, "p-one") })
	first := status(r, "p").Digest

	guest{manifest: tools("two"), answer: says("2")}.write(t, dir, "p.wasm")
	eventually(t, "replaced", func() bool { return has(r, "p-two") })
	if has(r, "p-one") || status(r, "p").Digest == first {
		t.Errorf("got tools %q, digest %s; want no p-one and another digest", toolNames(r.Snapshot()), first)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "removed", func() bool { return !has(r, "p-two") })
	if s := status(r, "p"); s.Name != "" {
		t.Errorf("got %+v, want s.Name = \"\"", s)
	}
}

// A running call finishes on the module it began with; a later one gets the new module.
func TestFolder_replacementKeepsRunningCalls(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), ask: progress, answer: says("old")}.write(t, dir, "p.wasm")
	r := open(t, options(t, dir))
	tool, _ := r.Snapshot().Tool("p-say")
	before := status(r, "p").Digest
	client := newBlocking()
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := textOf(tool.Call(context.Background(), catalog.Call{Client: client}))
		done <- answer{text, err}
	}()
	<-client.reached
	guest{manifest: tools("say"), answer: says("new")}.write(t, dir, "p.wasm")
	eventually(t, "replaced", func() bool { return status(r, "p").Digest != before })
	if got, err := textOf(tool.Call(t.Context(), catalog.Call{})); err != nil || got != "new" {
		t.Errorf("an entry of the old catalogue: got %q, %v; want \"new\"", got, err)
	}
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "new" {
		t.Errorf("the new catalogue: got %q, %v; want \"new\"", got, err)
	}
	close(client.letGo)
	if got := <-done; got.err != nil || got.text != "old" {
		t.Errorf("the call that ran: got %q, %v; want \"old\"", got.text, got.err)
	}
}

// No call is dropped during replacements.
func TestFolder_replacementDropsNoCall(t *testing.T) {
	dir := t.TempDir()
	put := func(n int) {
		guest{manifest: tools("say"), answer: says(fmt.Sprint(n))}.write(t, dir, "p.wasm")
	}
	put(0)
	o := options(t, dir)
	o.Logger = nil
	o.Defaults.Concurrency, o.Defaults.Queue = 4, 1000
	r := open(t, o)
	var stop atomic.Bool
	var calls atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for !stop.Load() {
				tool, ok := r.Snapshot().Tool("p-say")
				if !ok {
					t.Error("p-say: got no tool during a reload, want it listed")
					return
				}
				if _, err := textOf(tool.Call(context.Background(), catalog.Call{})); err != nil {
					t.Error(err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for n := 1; n <= 4; n++ {
		before := status(r, "p").Digest
		put(n)
		eventually(t, "replaced", func() bool { return status(r, "p").Digest != before })
		no := n%2 == 0
		if err := r.Configure(map[string]Config{"p": {Values: map[string]string{"n": fmt.Sprint(no)}}}); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if calls.Load() == 0 {
		t.Error("got no calls during the reloads, want some")
	}
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "4" {
		t.Errorf("got %q %v, want \"4\"", got, err)
	}
}

// A broken replacement leaves the old module serving, and the status reports it.
func TestFolder_brokenReplacementReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), answer: says("old")}.write(t, dir, "p.wasm")
	r := open(t, options(t, dir))
	if _, err := callText(t, r, "p-say", catalog.Call{}); err != nil { // compiles it
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"not wasm":       []byte("hello"),
		"missing import": guest{manifest: tools("say"), answer: says("new"), imports: "thing"}.wasm(),
		"bad manifest":   guest{manifest: `[]`, answer: says("new")}.wasm(),
	} {
		before := status(r, "p").Error
		writeFile(t, dir, "p.wasm", bad)
		eventually(t, name, func() bool { e := status(r, "p").Error; return e != "" && e != before })
		s := status(r, "p")
		if s.State != StateLoaded || !strings.Contains(s.Error, "the old one does") {
			t.Errorf("%s: got %+v, want state loaded, error with \"the old one does\"", name, s)
		}
		if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "old" {
			t.Errorf("%s: got %q %v, want \"old\"", name, got, err)
		}
	}
	guest{manifest: tools("say"), answer: says("new")}.write(t, dir, "p.wasm")
	eventually(t, "mended", func() bool { return status(r, "p").Error == "" })
	if got, err := callText(t, r, "p-say", catalog.Call{}); err != nil || got != "new" {
		t.Errorf("got %q %v, want \"new\"", got, err)
	}
}

// A file that is still being written is not loaded, however slow the writer.
func TestFolder_waitsForWriters(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(t, dir))
	whole := guest{manifest: tools("whole"), answer: says("1"), pad: 64 << 10}.wasm()
	f, err := os.Create(filepath.Join(dir, "p.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	seen := Status{}
	for part := range 4 {
		n := len(whole) / 4
		end := n * (part + 1)
		if part == 3 {
			end = len(whole)
		}
		if _, err := f.Write(whole[n*part : end]); err != nil {
			t.Fatal(err)
		}
		// A file written later has settled and was loaded, so there was time to load this one.
		later := fmt.Sprintf("later%d", part)
		guest{manifest: tools("say"), answer: says("1")}.write(t, dir, later+".wasm")
		eventually(t, later, func() bool { return has(r, later+"-say") })
		if s := status(r, "p"); s.State == StateLoaded || runtime.GOOS == "linux" && s.State == StateFailed {
			seen = s
		}
	}
	f.Close()
	if seen.Name != "" {
		t.Errorf("got plugin %+v while its file was written, want none", seen)
	}
	eventually(t, "loaded whole", func() bool { return has(r, "p-whole") })
}

func TestFolder_ignoresOtherFiles(t *testing.T) {
	dir := t.TempDir()
	g := guest{manifest: tools("say"), answer: says("x")}
	g.write(t, dir, ".hidden.wasm")
	writeFile(t, dir, "readme.txt", []byte("x"))
	if err := os.MkdirAll(filepath.Join(dir, "folder.wasm"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.write(t, filepath.Join(dir, "sub"), "deep.wasm")
	elsewhere := g.write(t, t.TempDir(), "target.wasm")
	if err := os.Symlink(elsewhere, filepath.Join(dir, "link.wasm")); err != nil {
		t.Skip(err)
	}
	r := open(t, options(t, dir))
	if got := toolNames(r.Snapshot()); len(got) != 1 || got[0] != "link-say" {
		t.Errorf("got %q, want number = 1, got[0] = \"link-say\"", got)
	}
	if s := r.Plugins(); len(s) != 2 { // with the host's own
		t.Errorf("got %+v, want number = 2", s)
	}
}

func TestFolder_reportsEachFault(t *testing.T) {
	dir := t.TempDir()
	good := guest{manifest: tools("say"), answer: says("x")}.wasm()
	for name, content := range map[string][]byte{
		"text": []byte("hello"), "component": []byte("\x00asm\x0d\x00\x01\x00"), "cut": good[:len(good)/2], "empty": {},
		"noexport": []byte("\x00asm\x01\x00\x00\x00"), "manifest": guest{manifest: `{"tools":1}`, answer: says("x")}.wasm(),
		"import": guest{answer: says("x"), imports: "thing"}.wasm(), "traps": guest{trap: true}.wasm(),
		"silent": guest{}.wasm(), "good": good,
	} {
		writeFile(t, dir, name+".wasm", content)
	}
	writeFile(t, dir, "---.wasm", good)
	writeFile(t, dir, "sallyport.wasm", good)
	r := open(t, options(t, dir))
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"text": "not a WebAssembly module", "component": "component", "cut": "truncated", "empty": "not a WebAssembly module",
		"noexport": "does not export mcp_handle", "manifest": "manifest: tools", "import": "nowhere.thing",
		"traps": "plugin/describe: trap", "silent": "plugin/describe", "---.wasm": "no letter", "sallyport.wasm": "host's own",
	} {
		if s := status(r, name); s.State != StateFailed || !strings.Contains(s.Error, says) || strings.Contains(s.Error, dir) {
			t.Errorf("%s: got %+v, want state failed, error with %v, error without %v", name, s, says, dir)
		}
	}
	if got, err := callText(t, r, "good-say", catalog.Call{}); err != nil || got != "x" {
		t.Errorf("got %q %v, want \"x\"", got, err)
	}
}

// A module with a manifest that does not compile is removed after its first call.
func TestFolder_reportsAModuleThatDoesNotCompile(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), answer: says("x"), imports: "thing"}.write(t, dir, "p.wasm")
	r := open(t, options(t, dir))
	tool, ok := r.Snapshot().Tool("p-say")
	if !ok {
		t.Fatalf("got tools %q, want p-say listed", toolNames(r.Snapshot()))
	}
	var end *spruntime.EndError
	if _, err := tool.Call(t.Context(), catalog.Call{}); !errors.As(err, &end) || end.Kind != spruntime.KindUnavailable || !strings.Contains(end.Message, "nowhere.thing") {
		t.Errorf("got %v, want an EndError, end.Kind = spruntime.KindUnavailable, error with \"nowhere.thing\"", err)
	}
	eventually(t, "taken out", func() bool { return !has(r, "p-say") })
	if s := status(r, "p"); s.State != StateFailed {
		t.Errorf("got %+v, want state failed", s)
	}
}

func TestDecision4_PluginNamesCollide(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("x"), answer: says("1")}.write(t, dir, "a-b.wasm")
	guest{manifest: tools("y"), answer: says("2")}.write(t, dir, "a b.wasm")
	guest{manifest: tools("z"), answer: says("3")}.write(t, dir, "c.wasm")
	o := options(t, dir)
	r := open(t, o)
	if got := toolNames(r.Snapshot()); len(got) != 1 || got[0] != "c-z" {
		t.Errorf("got %q, want number = 1, got[0] = \"c-z\"", got)
	}
	held := 0
	for _, s := range r.Plugins() {
		if s.Name == "a_b" && s.State == StateHeld && strings.Contains(s.Error, "a b.wasm, a-b.wasm") {
			held++
		}
	}
	if held != 2 {
		t.Errorf("got %+v, want held = 2", r.Plugins())
	}
	if err := r.Configure(map[string]Config{"other": {Source: "a b.wasm"}}); err != nil {
		t.Fatal(err)
	}
	if !has(r, "other-y") || !has(r, "a_b-x") {
		t.Errorf("got %q, want the tool other-y, the tool a_b-x", toolNames(r.Snapshot()))
	}
}

func TestConfigure_findsNewSources(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	path := guest{manifest: tools("say"), answer: says("1")}.write(t, elsewhere, "file.wasm")
	guest{manifest: tools("say"), answer: says("2")}.write(t, elsewhere, "other.wasm")
	o := options(t, dir)
	o.Plugins = map[string]Config{"one": {Source: path}, "two": {Source: path, Prefix: bare()}, "off": {Source: path, Disabled: true}, "lost": {}}
	r := open(t, o)
	if got := toolNames(r.Snapshot()); len(got) != 2 || got[0] != "one-say" || got[1] != "say" {
		t.Errorf("got %q, want number = 2, got[0] = \"one-say\", got[1] = \"say\"", got)
	}
	if s := status(r, "off"); s.State != StateDisabled {
		t.Errorf("got %+v, want state disabled", s)
	}
	if s := status(r, "lost"); s.State != StateFailed || !strings.Contains(s.Error, "lost.wasm") {
		t.Errorf("got %+v, want state failed, error with \"lost.wasm\"", s)
	}
	guest{manifest: tools("hear"), answer: says("3")}.write(t, elsewhere, "file.wasm")
	eventually(t, "a source is watched", func() bool { return has(r, "one-hear") && has(r, "hear") })
	if err := r.Configure(nil); err != nil {
		t.Fatal(err)
	}
	if len(r.Snapshot().Tools) != 0 {
		t.Errorf("got %q, want len(r.Snapshot().Tools) = 0", toolNames(r.Snapshot()))
	}
	if err := r.Configure(map[string]Config{"late": {Source: path}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a source that comes later", func() bool { return has(r, "late-hear") })
}

// A file is the plugin of each key that names it, by file name or as source, also if a key is added later.
func TestConfigure_severalKeysOfOneFile(t *testing.T) {
	dir := t.TempDir()
	path := sayer("hello").write(t, dir, "hello.wasm")
	sayer("code").write(t, dir, "code.wasm")
	manifest := manifestFile(t, dir, "said.json", "code.wasm", `}]}`)
	o := options(t, dir)
	one := map[string]Config{"hello": {}, "said": {}}
	two := map[string]Config{"hello": {}, "hello2": {Source: path}, "said": {}, "said2": {Source: manifest}}
	o.Plugins = two
	all := func(r *Registry, want string) {
		t.Helper()
		eventually(t, want, func() bool { return strings.Join(toolNames(r.Snapshot()), " ") == want })
		for _, s := range r.Plugins() {
			if s.Dialect != "go" && s.State != StateLoaded {
				t.Errorf("got status %+v, want state %v", s, StateLoaded)
			}
		}
	}
	all(open(t, o), "hello-say hello2-say said-say said2-say")
	o.Plugins = one
	r := open(t, o)
	all(r, "hello-say said-say")
	if err := r.Configure(two); err != nil {
		t.Fatal(err)
	}
	all(r, "hello-say hello2-say said-say said2-say")
	if err := r.Configure(map[string]Config{"hello2": {Source: path}, "hello": {Source: manifest}}); err != nil {
		t.Fatal(err)
	}
	all(r, "hello-say hello2-say")
}

func TestFolder_mayComeLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	r := open(t, options(t, dir))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	guest{manifest: tools("say"), answer: says("1")}.write(t, dir, "p.wasm")
	r.watcher.touch("") // as the poll does
	eventually(t, "found", func() bool { return has(r, "p-say") })
	guest{manifest: tools("hear"), answer: says("1")}.write(t, dir, "q.wasm")
	eventually(t, "watched from then on", func() bool { return has(r, "q-hear") })
}

func TestFolder_keepsTheModuleOfEqualBytes(t *testing.T) {
	dir := t.TempDir()
	g := guest{manifest: tools("say"), answer: says("1")}
	path := g.write(t, dir, "p.wasm")
	r := open(t, options(t, dir))
	r.inputs.mu.Lock()
	before, stamp := r.inputs.files[path].module, r.inputs.files[path].stamp
	r.inputs.mu.Unlock()
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	g.write(t, dir, "p.wasm")
	eventually(t, "looked at", func() bool {
		r.inputs.mu.Lock()
		defer r.inputs.mu.Unlock()
		return r.inputs.files[path].stamp != stamp
	})
	r.inputs.mu.Lock()
	defer r.inputs.mu.Unlock()
	if r.inputs.files[path].module != before {
		t.Error("got a new module for the same file, want the one from before")
	}
}

func TestFiles_areLoadedOnceAndNotWatched(t *testing.T) {
	dir := t.TempDir()
	path := guest{answer: `{"result":` + tools("say") + `}`}.write(t, dir, "my.plugin.wasm")
	guest{manifest: tools("no"), answer: says("1")}.write(t, dir, "other.wasm")
	o := options(t, dir)
	o.Files = []File{{Path: path, Config: Config{Prefix: bare()}}}
	r := open(t, o)
	if got := toolNames(r.Snapshot()); len(got) != 1 || got[0] != "say" {
		t.Errorf("got %q %+v, want number = 1, got[0] = \"say\"", got, r.Plugins())
	}
	if r.watcher.folder != nil {
		t.Errorf("got watched folder %v, want none", r.watcher.folder)
	}
	o.Files = []File{{Path: filepath.Join(dir, "none.wasm")}}
	if s := status(open(t, o), "none"); s.State != StateFailed || !strings.Contains(s.Error, "no such file") {
		t.Errorf("got %+v, want state failed, error with \"no such file\"", s)
	}
}

// untilCancelled is a client with a Progress that waits until the call is cancelled.
type untilCancelled struct{ *blocking }

func (c untilCancelled) Progress(ctx context.Context, _ json.RawMessage) {
	c.reached <- struct{}{}
	<-ctx.Done()
}

func TestClose_cancelsCallsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	guest{manifest: tools("say"), ask: progress, answer: says("late")}.write(t, dir, "p.wasm")
	r, err := New(t.Context(), options(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := r.Snapshot().Tool("p-say")
	client := untilCancelled{newBlocking()}
	done := make(chan error, 1)
	go func() {
		_, err := tool.Call(context.Background(), catalog.Call{Client: client})
		done <- err
	}()
	<-client.reached
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: got %v, want %v", err, context.DeadlineExceeded)
	}
	var end *spruntime.EndError
	if err := <-done; !errors.As(err, &end) {
		t.Errorf("the call: got %v, want an EndError", err)
	}
}
