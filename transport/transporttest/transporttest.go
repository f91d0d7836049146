// Package transporttest provides helpers for tests of the transports.
package transporttest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
)

// Main is a TestMain that fails if goroutines of the transports outlive the tests.
func Main(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if left := leaked(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stacks that still run project code after a grace period.
func leaked() (stacks string) {
	for range 600 { // a minute
		buf := make([]byte, 1<<20)
		stacks = ""
		for _, s := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(s, "sallyport/transport") && !strings.Contains(s, "TestMain") {
				stacks += s + "\n\n"
			}
		}
		if stacks == "" {
			return ""
		}
		time.Sleep(100 * time.Millisecond)
	}
	return stacks
}

// Server returns a protocol server over one in-process plugin, "t", with unprefixed tool names. Both are closed
// with the test.
func Server(t testing.TB, manifest string, serve plugin.Func) (*protocol.Server, *registry.Registry) {
	t.Helper()
	bare := false
	r, err := registry.New(t.Context(), registry.Options{Plugins: map[string]registry.Config{"t": {Prefix: &bare}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddGo("t", []byte(manifest), serve); err != nil {
		t.Fatal(err)
	}
	srv := protocol.NewServer(r, &protocol.Options{Name: "test"})
	t.Cleanup(func() {
		srv.Close(context.Background())
		r.Close(context.Background())
	})
	return srv, r
}
