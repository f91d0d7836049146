package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
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
