package protocol

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry"
)

// slow is a catalog that is complete when its gate is closed.
type slow struct {
	*registry.Registry
	gate  chan struct{}
	waits chan string
	whole atomic.Bool
}

func (s *slow) IsComplete() bool { return s.whole.Load() }

func (s *slow) AwaitComplete(ctx context.Context) {
	s.waits <- "waits"
	select {
	case <-s.gate:
		s.whole.Store(true)
	case <-ctx.Done():
	}
}

// Every list waits for the plugins compiled at startup. Other requests do not, and a client may cancel.
func TestList_waitsUntilComplete(t *testing.T) {
	p := &player{t: t}
	c := &slow{Registry: newCatalog(t, p.obey), gate: make(chan struct{}), waits: make(chan string, 16)}
	server := NewServer(c, nil)
	t.Cleanup(func() { server.Close(context.Background()) })
	conn := server.Connect(ConnOptions{Principal: "stdio:1"})
	defer conn.Close()
	answers := make(chan string, 16)
	lists := []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list", "skills/list"}
	for n, method := range lists {
		go func() {
			answers <- string(handle(t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{%s}}}`, n, method, askableMeta)).Body)
		}()
	}
	for range lists {
		<-c.waits
	}
	if got := string(handle(t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"server/discover","params":{"_meta":{%s}}}`, askableMeta)).Body); !strings.Contains(got, `"id":9,"result"`) {
		t.Errorf("got %s while a completion runs, want a result", got)
	}
	select {
	case got := <-answers:
		t.Errorf("got %s before the completion ended, want none", got)
	default:
	}
	close(c.gate)
	for range lists {
		if got := <-answers; !strings.Contains(got, `"result":{`) {
			t.Errorf("got %s, want a result", got)
		}
	}
}
