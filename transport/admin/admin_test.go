package admin_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/transport/admin"
)

func TestOptions_refuseOtherMachines(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:0": true, "localhost:9470": true, "[::1]:9470": true, "[::ffff:127.0.0.1]:1": true, "unix:/run/x.sock": true,
		"0.0.0.0:9470": false, ":9470": false, "[::]:9470": false, "10.1.2.3:9470": false, "example.com:9470": false, "localhost.example.com:1": false,
	} {
		o := admin.Options{Addr: addr}
		err := o.Check()
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "--admin-remote") {
			t.Errorf("%s: got %v, want permitted: %v, else the flag that permits it", addr, err, want)
		}
		o.Remote = true
		if err := o.Check(); err != nil {
			t.Errorf("%s with Remote: got %v, want none", addr, err)
		}
	}
	for _, addr := range []string{"", "unix:", "9470", "127.0.0.1", "127.0.0.1:"} {
		o := admin.Options{Addr: addr, Remote: true}
		if s, err := admin.Listen(o); err == nil {
			t.Errorf("%q: got %v, want an error", addr, s.Close())
		}
	}
}

func get(t *testing.T, c *http.Client, url, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestServer_tellsHealthAndReadiness(t *testing.T) {
	var reason error
	s, err := admin.Listen(admin.Options{Addr: "127.0.0.1:0", Ready: func() error { return reason }, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "m 1\n") })})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check := func(path, host string, status int, text string) {
		t.Helper()
		if got, body := get(t, http.DefaultClient, s.URL()+path, host); got != status || !strings.Contains(body, text) {
			t.Errorf("%s of %q: got %d %q, want %d %q", path, host, got, body, status, text)
		}
	}
	check("/health", "", 200, "ok")
	check("/ready", "", 200, "ready")
	check("/metrics", "", 200, "m 1")
	check("/debug/pprof/goroutine?debug=1", "", 200, "goroutine profile")
	check("/debug/pprof/cmdline", "", 404, "Unknown profile")
	check("/", "", 404, "not found")
	check("/metrics", "localhost", 200, "m 1")
	check("/metrics", "[::1]", 200, "m 1")
	for _, host := range []string{"rebound.example", "rebound.example:80", "127.0.0.1.rebound.example", "10.0.0.1"} {
		check("/metrics", host, 403, "Host")
		check("/debug/pprof/heap", host, 403, "Host")
	}
	reason = errors.New("plugins are being loaded")
	check("/ready", "", 503, "plugins are being loaded")
	check("/health", "", 200, "ok")
}

// A page of another site cannot read the answer, but its request alone would begin a profile.
func TestServer_refusesRequestsOfOtherPages(t *testing.T) {
	s, err := admin.Listen(admin.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, test := range []struct {
		header, value string
		want          int
	}{
		{"Sec-Fetch-Site", "cross-site", 403}, {"Sec-Fetch-Site", "same-site", 403}, {"Origin", "https://evil.example", 403}, {"Origin", "null", 403},
		{"Sec-Fetch-Site", "none", 200}, {"Sec-Fetch-Site", "same-origin", 200}, {"User-Agent", "Prometheus", 200},
	} {
		r, err := http.NewRequest(http.MethodGet, s.URL()+"/debug/pprof/heap?gc=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(test.header, test.value)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != test.want {
			t.Errorf("%s: %s: got %d, want %d", test.header, test.value, res.StatusCode, test.want)
		}
	}
}

// Other machines get no profiles, which cost processor time.
func TestServer_keepsProfilesFromOtherMachines(t *testing.T) {
	s, err := admin.Listen(admin.Options{Addr: "127.0.0.1:0", Remote: true, Metrics: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for path, want := range map[string]int{"/health": 200, "/debug/pprof/": 404, "/debug/pprof/heap": 404, "/debug/pprof/profile?seconds=1": 404, "/debug/pprof/trace": 404} {
		if got, _ := get(t, http.DefaultClient, s.URL()+path, ""); got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
}

func TestServer_listensOnASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := admin.Listen(admin.Options{Addr: "unix:" + path})
	if err != nil {
		t.Fatal(err)
	}
	if s.URL() != "unix:"+path {
		t.Errorf("got %s, want unix:%s", s.URL(), path)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	if got, body := get(t, c, "http://host/ready", ""); got != 200 || body != "ready\n" {
		t.Errorf("got %d %q, want 200 ready", got, body)
	}
	if _, err := admin.Listen(admin.Options{Addr: "unix:" + path}); err == nil {
		t.Error("a socket in use: got no error, want one")
	}
	if err := s.Close(); err != nil {
		t.Errorf("got %v, want none", err)
	}
}
