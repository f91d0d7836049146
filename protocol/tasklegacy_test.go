package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
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
	kept := store.New(store.Options{Dir: t.TempDir()})
	t.Cleanup(func() { kept.Close() })
	h := newTaskHost(t, sealed.Random(), kept, time.Now)
	t.Cleanup(func() { h.server.Close(context.Background()) })
	question := json.RawMessage(`{"method":"roots/list","params":{}}`)
	asked := task.Task{Spec: task.Spec{ID: "x"}, Requests: map[string]json.RawMessage{"a": question, "b": question, "c": question}}
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
