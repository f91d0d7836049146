package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry"
)

// taskHost is a server with task tools and its own clock.
type taskHost struct {
	t      *testing.T
	server *Server
	n      int
}

func newTaskHost(t *testing.T, keys *sealed.Keys, kept *store.Store, now func() time.Time) *taskHost {
	t.Helper()
	p := &player{t: t}
	catalog := newCatalog(t, p.obey)
	manifest, err := os.ReadFile("testdata/tasks.json")
	if err == nil {
		err = catalog.AddGo("t", manifest, p.obey)
	}
	if err != nil {
		t.Fatal(err)
	}
	roots, err := grant.ParseLine("roots")
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Configure(map[string]registry.Config{"t": {Grants: grant.NewSet(roots)}}); err != nil {
		t.Fatal(err)
	}
	s := NewServer(catalog, &Options{Keys: keys})
	s.tasks.Close()
	s.opts.Store, s.now = kept, now
	s.waiting = continuation.NewKeeper(s.keys, kept, now)
	s.tasks = s.newTasks()
	s.tasks.Start()
	return &taskHost{t: t, server: s}
}

// ask sends one request of a client that supports tasks.
func (h *taskHost) ask(principal, method, params, more string) json.RawMessage {
	h.t.Helper()
	c := h.server.Connect(ConnOptions{Principal: principal})
	defer c.Close()
	h.n++
	meta := strings.Replace(askableMeta, `"roots":{}`, `"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}`, 1)
	return handle(h.t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{%s%s}}}`, h.n, method, params, meta, more)).Body
}

// until polls a task until it has the status.
func (h *taskHost) until(principal, id, status string) json.RawMessage {
	h.t.Helper()
	var answer json.RawMessage
	eventually(h.t, fmt.Sprintf("task %s is %s", id, status), func() bool {
		answer = h.ask(principal, "tasks/get", fmt.Sprintf(`"taskId":%q`, id), "")
		is, _ := jsonraw.String(jsonraw.Get(answer, "result", "status"))
		return is == status
	})
	return answer
}

// eventually polls until ok returns true. It is for conditions without an event: the end of goroutines, and a change in
// the store or the server, by the requests with which a client would poll.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	const pause = 5 * time.Millisecond
	for range time.Minute / pause {
		if ok() {
			return
		}
		time.Sleep(pause)
	}
	t.Fatalf("never: %s", what)
}

const asksRoots = `,"ask":[[{"Method":"roots/list","Key":"r"}]]`

// A task waits for days in a file without a running process, and another process continues it.
func TestTask_waitsForDaysWithoutAProcess(t *testing.T) {
	dir, keys := t.TempDir(), sealed.Random()
	now := time.Now()
	clock := func() time.Time { return now }
	open := func() *store.Store { return store.New(store.Options{Dir: dir, Now: clock}) }
	first := open()
	h := newTaskHost(t, keys, first, clock)
	other, _ := jsonraw.String(jsonraw.Get(h.ask("stdio:1", "tools/call", `"name":"t-job"`, ""), "result", "taskId"))
	h.until("stdio:1", other, "completed") // so that the file is open
	running := goruntime.NumGoroutine()
	id, ok := jsonraw.String(jsonraw.Get(h.ask("stdio:1", "tools/call", `"name":"t-job"`, asksRoots), "result", "taskId"))
	if !ok {
		t.Fatal("no task")
	}
	h.until("stdio:1", id, "input_required")
	eventually(t, "no goroutine waits with it", func() bool { return goruntime.NumGoroutine() <= running })
	if err := h.server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	now = now.Add(6 * 24 * time.Hour)
	second := open()
	t.Cleanup(func() { second.Close() })
	h = newTaskHost(t, keys, second, clock)
	t.Cleanup(func() { h.server.Close(t.Context()) })
	update := fmt.Sprintf(`"taskId":%q,"inputResponses":{"r":{"roots":[{"uri":"file:///later"}]}}`, id)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if got := h.ask("stdio:2", method, update, ""); !strings.Contains(string(got), `"code":-32602,"message":"unknown task"`) {
			t.Errorf("another principal's %s: got %s, want an unknown task", method, got)
		}
	}
	h.ask("stdio:1", "tasks/update", update, "")
	if got := h.until("stdio:1", id, "completed"); !strings.Contains(string(got), "file:///later") {
		t.Errorf("got %s", got)
	}
	now = now.Add(2 * 24 * time.Hour)
	if got := h.ask("stdio:1", "tasks/get", fmt.Sprintf(`"taskId":%q`, id), ""); !strings.Contains(string(got), "unknown task") {
		t.Errorf("after its week: got %s, want an unknown task", got)
	}
}

// With other keys a waiting task is unchanged, and a client that answers it gets an error.
func TestTask_isRefusedWithOtherKeys(t *testing.T) {
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	h := newTaskHost(t, sealed.Random(), kept, time.Now)
	id, _ := jsonraw.String(jsonraw.Get(h.ask("stdio:1", "tools/call", `"name":"t-job"`, asksRoots), "result", "taskId"))
	h.until("stdio:1", id, "input_required")
	if err := h.server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = newTaskHost(t, sealed.Random(), kept, time.Now)
	t.Cleanup(func() { h.server.Close(t.Context()) })
	got := h.ask("stdio:1", "tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{"r":{"roots":[]}}`, id), "")
	if !strings.Contains(string(got), "or has other keys: answer the task where it was begun") {
		t.Errorf("got %s", got)
	}
	h.until("stdio:1", id, "input_required")
}

// A task that cannot be stored is not started, and the caller gets an error.
func TestTask_doesNotStartUnlessStored(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.db"), []byte(strings.Repeat("this is no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := store.New(store.Options{Dir: dir})
	t.Cleanup(func() { kept.Close() })
	h := newTaskHost(t, sealed.Random(), kept, time.Now)
	t.Cleanup(func() { h.server.Close(t.Context()) })
	if got := h.ask("stdio:1", "tools/call", `"name":"t-only"`, ""); !strings.Contains(string(got), "the task cannot be kept, so it does not begin") ||
		!strings.Contains(string(got), `"kind":"unavailable"`) {
		t.Errorf("a broken file: got %s, want unavailable", got)
	}
	if got := h.ask("anonymous", "tools/call", `"name":"t-only"`, ""); !strings.Contains(string(got), `"resultType":"task"`) {
		t.Errorf("a task in memory: got %s, want a task", got)
	}
}

// If a host ends during the commit of a task's files, the task is not replayed, as the outcome of the commit is
// unknown.
func TestTask_isNotReplayedAfterAnInterruptedCommit(t *testing.T) {
	dir, keys := t.TempDir(), sealed.Random()
	first := store.New(store.Options{Dir: dir})
	book := task.NewBook(first, time.Now, 0)
	params := json.RawMessage(`{"name":"t-job","_meta":{` + askableMeta + `}}`)
	begun, err := book.Open(t.Context(), task.New{Durable: true, Spec: task.Spec{Principal: "stdio:1", Params: params, Mark: keys.Seal([]byte(`{"site":""}`))}})
	if err != nil {
		t.Fatal(err)
	}
	j := journal.New()
	if err := j.Bind([]byte("plugin")); err != nil {
		t.Fatal(err)
	}
	j.Keep(func(part []byte) error { return book.Parts.Add(t.Context(), &begun, 0, []byte(keys.Seal(part))) })
	if err := j.Begin("the commit of the call's writes", hostfuncs.LandingFamily); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // to others it looks like the end of the process
		t.Fatal(err)
	}
	second := store.New(store.Options{Dir: dir})
	t.Cleanup(func() { second.Close() })
	h := newTaskHost(t, keys, second, time.Now)
	t.Cleanup(func() { h.server.Close(t.Context()) })
	got := h.until("stdio:1", begun.ID, "failed")
	if !strings.Contains(string(got), `"unknown_outcome":true`) || !strings.Contains(string(got), "the commit of the call's writes was under way") {
		t.Errorf("got %s", got)
	}
	eventually(t, "no part is left", func() bool { // removed shortly after the end is visible
		left, err := second.Below(t.Context(), store.Part, begun.ID)
		if err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	})
}

// While the database of tasks is away, requests about a task are answered as unavailable, and the same ones succeed later.
func TestTask_isUnavailableWithoutItsDatabase(t *testing.T) {
	var away atomic.Bool
	kept := store.New(store.Options{Dir: t.TempDir(), Reached: func(step string) error {
		if (step == "begin" || step == "read") && away.Load() {
			return store.ErrUnavailable
		}
		return nil
	}})
	t.Cleanup(func() { kept.Close() })
	h := newTaskHost(t, sealed.Random(), kept, time.Now)
	t.Cleanup(func() { h.server.Close(t.Context()) })
	id, _ := jsonraw.String(jsonraw.Get(h.ask("stdio:1", "tools/call", `"name":"t-job"`, asksRoots), "result", "taskId"))
	h.until("stdio:1", id, "input_required")
	away.Store(true)
	for method, params := range map[string]string{
		"tasks/get": `"taskId":%q`, "tasks/cancel": `"taskId":%q`, "tasks/update": `"taskId":%q,"inputResponses":{"r":{"roots":[]}}`,
		"subscriptions/listen": `"notifications":{"taskIds":[%q]}`,
	} {
		if got := string(h.ask("stdio:1", method, fmt.Sprintf(params, id), "")); !strings.Contains(got, `tasks cannot be reached at present`) || !strings.Contains(got, `"kind":"unavailable","retryable":true`) {
			t.Errorf("%s: got %s, want unavailable and retryable", method, got)
		}
	}
	away.Store(false)
	h.ask("stdio:1", "tasks/cancel", fmt.Sprintf(`"taskId":%q`, id), "")
	h.until("stdio:1", id, "cancelled")
}

// A task with an idempotency key that was stored although its commit had no known outcome is found by the next call with
// the key: it opens no second one.
func TestTask_isFoundByItsKeyAfterAnUnknownOpening(t *testing.T) {
	var writes atomic.Int32
	o := storetest.Options(t, t.TempDir())
	o.Reached = func(step string) error {
		if step == "committed" && writes.Add(1) == 2 { // after the key
			return errors.Join(store.ErrUnavailable, store.ErrUnknown)
		}
		return nil
	}
	kept := storetest.Open(t, o)
	h := newTaskHost(t, sealed.Random(), kept, time.Now)
	begin := func() json.RawMessage {
		return h.ask("ada", "tools/call", `"name":"t-only","arguments":{}`, `,"dev.sallyport/idempotencyKey":"k"`)
	}
	if first := begin(); !strings.Contains(string(first), "error") {
		t.Fatalf("got %s, want the failure of the commit", first)
	}
	opened, err := kept.List(t.Context(), store.Task, "ada", "", 0)
	if err != nil || len(opened) != 1 {
		t.Fatalf("got %d tasks, %v, want the one whose commit had no known outcome", len(opened), err)
	}
	again := begin()
	if id, _ := jsonraw.String(jsonraw.Get(again, "result", "taskId")); id != opened[0].ID {
		t.Errorf("got %s, want the task %s", again, opened[0].ID)
	}
}
