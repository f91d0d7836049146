//go:build replicas

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A call whose host is lost is answered with 502 by the frontend of docs/operating.md. Without "option httpclose" haproxy closes
// a connection that had a request before without a response, and over HTTP/2 it tells the client that nothing was done: Go's
// repeats the call.
func TestCluster_haproxyAnswersForALostHost(t *testing.T) {
	for name, c := range map[string]struct {
		without string // in the configuration
		http2   bool
		want    string
		calls   int64
	}{
		"as documented": {want: "502", calls: 1},
		"kept alive":    {without: "  option httpclose\n", want: "EOF", calls: 1},
		"HTTP/2":        {http2: true, want: "200", calls: 2},
	} {
		var calls atomic.Int64
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.URL.Path != "/lost" || calls.Add(1) > 1 {
				return
			}
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close() // as the system does for a process that was killed
			}
		}))
		at, stats := freeAddress(t), freeAddress(t)
		config := strings.Replace(fmt.Sprintf(balancer, at, stats, "  server a "+host.Listener.Addr().String()+"\n"), c.without, "", 1)
		client := &http.Client{Transport: &http.Transport{}}
		if c.http2 {
			config = strings.Replace(config, "bind "+at, "bind "+at+" proto h2", 1)
			var only http.Protocols
			only.SetUnencryptedHTTP2(true)
			client.Transport = &http.Transport{Protocols: &only}
		}
		startHaproxy(t, filepath.Join(t.TempDir(), "haproxy.cfg"), config, t.Output())
		ask := func(path string) string {
			answer, err := client.Post("http://"+at+path, "application/json", strings.NewReader("{}"))
			if err != nil {
				return err.Error()
			}
			answer.Body.Close()
			return fmt.Sprint(answer.StatusCode)
		}
		eventually(t, "haproxy serves", func() bool { return ask("/") == "200" })
		ask("/") // the first request of the connection
		if got := ask("/lost"); !strings.HasSuffix(got, c.want) || calls.Load() != c.calls {
			t.Errorf("%s: got %s and %d calls, want %s and %d", name, got, calls.Load(), c.want, c.calls)
		}
		host.Close()
	}
}
