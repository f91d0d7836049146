package protocol

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/registry"
)

// lateCatalog has its tool only after late.
type lateCatalog struct {
	*registry.Registry
	late time.Duration
	load func()
}

func (c *lateCatalog) Ready(ctx context.Context) error {
	select {
	case <-time.After(c.late):
		c.load()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A client with a cached list calls a tool while its plugin is still loading.
func TestFind_waitsForLoadingPlugins(t *testing.T) {
	for _, c := range []struct {
		late time.Duration
		ok   bool
	}{{20 * time.Second, true}, {time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			r := newCatalog(t, (&player{t: t}).obey)
			catalog := &lateCatalog{Registry: r, late: c.late}
			catalog.load = func() { addTools(t, r, (&player{t: t}).obey, "late", []string{"tool"}) }
			conn := NewServer(catalog, nil).Connect(ConnOptions{})
			defer conn.Close()
			if !c.ok {
				for method, params := range map[string]string{"prompts/get": `"name":"late-prompt"`, "resources/read": `"uri":"late://one"`} {
					m := parse(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{%s}}}`, method, params, modernMeta))
					if got := conn.Handle(t.Context(), &m, nil); got.Err == nil || !strings.HasSuffix(got.Err.Message, " (plugins are still loading: try again)") {
						t.Errorf("%s: got %+v, want it to be tried again", method, got.Err)
					}
				}
			}
			begin := time.Now()
			got := handle(t, conn, callMessage(1, "late-tool"))
			if ok := got.Err == nil; ok != c.ok || !ok && !strings.HasSuffix(got.Err.Message, "late-tool (plugins are still loading: try again)") {
				t.Errorf("loaded after %v: got %+v, want success: %v", c.late, got.Err, c.ok)
			}
			if took := time.Since(begin); took > loadingWait {
				t.Errorf("loaded after %v: got the answer after %v, want it within %v", c.late, took, loadingWait)
			}
			r.Close(context.Background())
		})
	}
}

// A client subscribes to a resource whose plugin is still loading: the acknowledgement names it.
func TestListen_waitsForLoadingPlugins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newCatalog(t, (&player{t: t}).obey)
		catalog := &lateCatalog{Registry: r, late: 20 * time.Second}
		catalog.load = func() {
			if err := r.AddGo("late", []byte(`{"resources":[{"uri":"late://one","name":"late"}]}`), (&player{t: t}).obey); err != nil {
				t.Error(err)
			}
		}
		conn := NewServer(catalog, nil).Connect(ConnOptions{})
		defer conn.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var told []string
		listen := parse(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["late://one"]},"_meta":{%s}}}`, modernMeta))
		conn.Handle(ctx, &listen, func(m []byte) {
			told = append(told, string(m))
			cancel()
		})
		if len(told) != 1 || !strings.Contains(told[0], `"resourceSubscriptions":["late://one"]`) {
			t.Errorf("got %q, want an acknowledgement of late://one", told)
		}
		r.Close(context.Background())
	})
}
