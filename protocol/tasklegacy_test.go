package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/protocol/task"
)

// Abandoned questions of a task are removed from the desk in all cases, and the client is notified.
func TestAskForTask_dropsAbandonedQuestions(t *testing.T) {
	h := newTaskHost(t, sealed.Random(), nil, time.Now)
	t.Cleanup(func() { h.server.Close(context.Background()) })
	asked := h.asks(`,"ask":[[{"Method":"roots/list","Key":"a"},{"Method":"roots/list","Key":"b"},{"Method":"roots/list","Key":"c"}]]`)
	var said []string
	c := h.server.Connect(ConnOptions{Principal: "stdio:1"})
	defer c.Close()
	close(c.legacy.readied)
	stream := notify.Stream{Send: func(m []byte) { said = append(said, string(m)) }}
	for range 30 { // otherwise each would leave two behind
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.askForTask(ctx, &asked, stream.Tell, true); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	withdrawn := strings.Count(strings.Join(said, ""), `"notifications/cancelled"`)
	if n := c.legacy.desk.Waiting(); n != 0 || withdrawn < 60 {
		t.Errorf("got %d waiting questions and %d withdrawn, want none and 60", n, withdrawn)
	}
	for range 62 { // leave room for two of three
		if _, err := c.legacy.desk.Send("roots/list", nil, stream.Tell); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.askForTask(t.Context(), &asked, stream.Tell, true); err == nil || !strings.Contains(err.Error(), "too many questions wait") {
		t.Errorf("got %v", err)
	}
	if n := c.legacy.desk.Waiting(); n != 62 {
		t.Errorf("got %d waiting questions, want 62", n)
	}
}

// asks opens a task of stdio:1 with this directive and returns it when it asks.
func (h *taskHost) asks(directive string) task.Task {
	h.t.Helper()
	id, ok := jsonraw.String(jsonraw.Get(h.ask("stdio:1", "tools/call", `"name":"t-job"`, directive), "result", "taskId"))
	if !ok {
		h.t.Fatal("got no task")
	}
	h.until("stdio:1", id, "input_required")
	asked, err := h.server.tasks.Book.Get(h.t.Context(), "stdio:1", id)
	if err != nil {
		h.t.Fatal(err)
	}
	return asked
}

// awaiting is a session of 2025-11-25 that waits in tasks/result.
type awaiting struct {
	conn      *Conn
	questions chan json.RawMessage // IDs
	result    chan []byte
}

// awaits has a session of stdio:1 request the result of a task.
func (h *taskHost) awaits(id string) *awaiting {
	h.t.Helper()
	a := &awaiting{h.server.Connect(ConnOptions{Principal: "stdio:1"}), make(chan json.RawMessage, 100), make(chan []byte, 1)}
	handle(h.t, a.conn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	handle(h.t, a.conn, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	request := parse(h.t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":%q}}`, id))
	go func() {
		a.result <- a.conn.Handle(h.t.Context(), &request, func(msg []byte) {
			if method, _ := jsonraw.String(jsonraw.Get(msg, "method")); method == "roots/list" {
				a.questions <- slices.Clone(jsonraw.Get(msg, "id"))
			}
		}).Body
	}()
	return a
}

// answers answers the next question of the session.
func (a *awaiting) answers(t *testing.T) {
	t.Helper()
	select {
	case id := <-a.questions:
		handle(t, a.conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, id))
	case <-time.After(time.Minute):
		t.Fatal("no question came")
	}
}

// ends returns the result of the task.
func (a *awaiting) ends(t *testing.T) {
	t.Helper()
	select {
	case body := <-a.result:
		if a.conn.Close(); jsonraw.IsNull(jsonraw.Get(body, "result")) {
			t.Errorf("got %s, want the result", body)
		}
	case <-time.After(time.Minute):
		t.Fatal("no result came")
	}
}

// looks is a clock that counts its readings: each look at a task reads it.
type looks struct{ n atomic.Int64 }

func (l *looks) now() time.Time {
	l.n.Add(1)
	return time.Now()
}

// more waits until a host has looked at its tasks many times from now on.
func (l *looks) more(t *testing.T) {
	t.Helper()
	from := l.n.Load()
	eventually(t, "the host looks at the task", func() bool { return l.n.Load() > from+20 })
}

// Of two hosts that serve tasks/result of one task, one asks its questions, and both return its result.
func TestTaskResult_asksOnceAmongHosts(t *testing.T) {
	dir, keys, clock := t.TempDir(), sealed.Random(), &looks{}
	var hosts []*taskHost
	for range 2 {
		h := newTaskHost(t, keys, storetest.Open(t, storetest.Options(t, dir)), clock.now)
		t.Cleanup(func() { h.server.Close(context.Background()) })
		hosts = append(hosts, h)
	}
	asked := hosts[0].asks(`,"ask":[[{"Method":"roots/list","Key":"a"}],[{"Method":"roots/list","Key":"b"}]]`)
	one, other := hosts[0].awaits(asked.ID), hosts[1].awaits(asked.ID)
	for range 2 {
		eventually(t, "a question comes", func() bool { return len(one.questions)+len(other.questions) > 0 })
		clock.more(t)
		if a, b := len(one.questions), len(other.questions); a+b != 1 {
			t.Fatalf("got %d and %d questions, want one", a, b)
		}
		if len(one.questions) == 0 {
			one, other = other, one
		}
		one.answers(t)
		eventually(t, "the round is answered", func() bool {
			now, err := hosts[0].server.tasks.Book.Get(t.Context(), "stdio:1", asked.ID)
			return err == nil && (now.Status.Over() || now.Status == task.Input && len(now.Asked) > len(asked.Asked))
		})
	}
	one.ends(t)
	other.ends(t)
	if n := len(one.questions) + len(other.questions); n != 0 {
		t.Errorf("got %d more questions, want none", n)
	}
}

// The questions of a host that has ended are asked by another one, and not before.
func TestTaskResult_asksForAHostThatHasEnded(t *testing.T) {
	dir, clock := t.TempDir(), &looks{}
	h := newTaskHost(t, sealed.Random(), storetest.Open(t, storetest.Options(t, dir)), clock.now)
	t.Cleanup(func() { h.server.Close(context.Background()) })
	asked := h.asks(asksRoots)
	const process = "ABCDEFGHIJKLMNOP"
	ending := store.New(storetest.Options(t, dir))
	if err := ending.Hold(process); err != nil {
		t.Fatal(err)
	}
	if _, err := ending.Add(t.Context(), store.Claim, store.Record{ID: asked.ID, Principal: "stdio:1", Data: []byte(process), Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	a := h.awaits(asked.ID)
	if clock.more(t); len(a.questions) != 0 {
		t.Error("got a question that another host asks")
	}
	if err := ending.Close(); err != nil {
		t.Fatal(err)
	}
	a.answers(t)
	a.ends(t)
}

// The watch of a task that has already ended is not kept for the rest of the session.
func TestWatchTask_endsWithItsTask(t *testing.T) {
	h := newTaskHost(t, sealed.Random(), nil, time.Now)
	t.Cleanup(func() { h.server.Close(context.Background()) })
	begin := func(directive string) string {
		id, ok := jsonraw.String(jsonraw.Get(h.ask("stdio:1", "tools/call", `"name":"t-job"`, directive), "result", "taskId"))
		if !ok {
			t.Fatal("got no task")
		}
		return id
	}
	c := h.server.Connect(ConnOptions{Principal: "stdio:1", Notify: func([]byte) {}})
	defer c.Close()
	over := begin(``)
	h.until("stdio:1", over, "completed")
	running := begin(`,"wait":3600000`)
	for _, id := range []string{over, running} {
		c.watchTask(t.Context(), id)
	}
	if _, kept := c.watches.stops[running]; len(c.watches.stops) != 1 || !kept {
		t.Errorf("got %d watches, want only that of the running task", len(c.watches.stops))
	}
	h.ask("stdio:1", "tasks/cancel", `"taskId":"`+running+`"`, "")
	h.until("stdio:1", running, "cancelled")
	if n := len(c.watches.stops); n != 0 {
		t.Errorf("got %d watches, want none", n)
	}
}

// The watch of a task that expires without an end is not kept for the rest of the session either.
func TestWatchTask_endsWithExpiry(t *testing.T) {
	now := storetest.NewClock(time.Now())
	h := newTaskHost(t, sealed.Random(), nil, now.Now)
	t.Cleanup(func() { h.server.Close(context.Background()) })
	id, ok := jsonraw.String(jsonraw.Get(h.ask("stdio:1", "tools/call", `"name":"t-job"`, `,"wait":3600000`), "result", "taskId"))
	if !ok {
		t.Fatal("got no task")
	}
	c := h.server.Connect(ConnOptions{Principal: "stdio:1", Notify: func([]byte) {}})
	defer c.Close()
	c.watchTask(t.Context(), id)
	if n := len(c.watches.stops); n != 1 {
		t.Errorf("before the expiry: got %d watches, want 1", n)
	}
	now.Pass(8 * 24 * time.Hour)
	if err := h.server.tasks.Book.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(c.watches.stops); n != 0 {
		t.Errorf("got %d watches, want none", n)
	}
}
