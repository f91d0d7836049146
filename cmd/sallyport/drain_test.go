//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// draining is a host over HTTP whose call waits for a page.
type draining struct {
	t       *testing.T
	cmd     *exec.Cmd
	url     string
	log     chan string // its lines
	answer  chan string // of the call
	release func()
}

// drainHost starts a host with a call in progress. more are keys of http in its configuration.
func drainHost(t *testing.T, more string) *draining {
	t.Helper()
	asked, released := make(chan struct{}, 1), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-released:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "the page")
	}))
	t.Cleanup(site.Close)
	dir := folder(t, bundled(t, "fetch"))
	state := compiledState(t, dir)
	config := "http: {" + more + "}\nlimits: {deadline: 1h}\nplugins: {fetch: {grants: ['net: GET " + site.URL + "/**']}}"
	d := &draining{t: t, cmd: program(t, config, "serve", "--http", "127.0.0.1:0", "--no-token", dir), log: make(chan string, 1000), answer: make(chan string, 1)}
	d.release = func() { close(released) }
	ownState(d.cmd, state)
	d.start()
	go func() {
		status, body, _ := d.post("tools/call", "fetch-fetch", `"name":"fetch-fetch","arguments":{"url":"`+site.URL+`/"},`)
		d.answer <- fmt.Sprint(status, " ", body)
	}()
	select {
	case <-asked:
	case <-time.After(hang):
		t.Fatal("the page is not asked for")
	}
	return d
}

// start runs the program until its address is known.
func (d *draining) start() {
	d.t.Helper()
	errs, err := d.cmd.StderrPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { d.cmd.Process.Kill() })
	go func() {
		defer close(d.log)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			d.log <- lines.Text()
		}
	}()
	for line := range d.log {
		if m := servingOn.FindStringSubmatch(line); m != nil {
			d.url = m[1]
			return
		}
	}
	d.t.Fatal("the host ended without an address")
}

// post sends a request on a connection of its own.
func (d *draining) post(method, name, params string) (status int, body string, closes bool) {
	r, err := d.open(method, name, params)
	if err != nil {
		return 0, err.Error(), true
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error(), true
	}
	return r.StatusCode, string(all), r.Close
}

func (d *draining) open(method, name, params string) (*http.Response, error) {
	r, err := modernRequest(d.url, method, name, []byte(modern("1", method, params)))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{}
	return (&http.Client{Transport: transport}).Do(r)
}

func (d *draining) signal() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
}

// After the signal a listen ends with its result, so that its client listens elsewhere, the running call has its time,
// and new requests are refused.
func TestServe_drainsWhenItIsStopped(t *testing.T) {
	d := drainHost(t, "drain: 1h")
	listen, err := d.open("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`)
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Body.Close()
	events := bufio.NewReader(listen.Body)
	if first, err := events.ReadString('\n'); err != nil || !strings.HasPrefix(first, "data:") && !strings.HasPrefix(first, "event:") {
		t.Fatalf("listen: got %q, %v, want an event", first, err)
	}
	d.signal()
	rest, err := io.ReadAll(events)
	if err != nil || !bytes.Contains(rest, []byte(`"result"`)) {
		t.Errorf("listen: got %s, %v, want its result", rest, err)
	}
	if status, body, _ := d.post("tools/list", "", ""); status != 0 && status != 503 {
		t.Errorf("a new request: got %d %s, want it refused", status, body)
	}
	select {
	case got := <-d.answer:
		t.Fatalf("got %s before the page, want the call to run", got)
	default:
	}
	d.release()
	if got := soon(t, d.answer); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "the page") {
		t.Errorf("the running call: got %s, want 200 and the page", got)
	}
	if err := ends(t, d.cmd); err != nil {
		t.Errorf("got %v, want success", err)
	}
}

// With http.linger a host serves on after the signal, and asks clients to use another connection.
func TestServe_lingersForBalancers(t *testing.T) {
	d := drainHost(t, "linger: 1h, drain: 1h")
	if _, _, closes := d.post("tools/list", "", ""); closes {
		t.Error("got a connection that closes before the signal, want it to stay")
	}
	d.signal()
	eventually(t, "answers close their connections", func() bool {
		status, body, closes := d.post("tools/list", "", "")
		if status != 200 {
			t.Errorf("got %d %s, want 200", status, body)
		}
		return closes
	})
	d.release()
	if got := soon(t, d.answer); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "the page") {
		t.Errorf("the running call: got %s, want 200 and the page", got)
	}
	d.signal()
	if err := ends(t, d.cmd); err == nil {
		t.Error("got success after a second signal, want the signal")
	}
}

// Ranges that cannot be read stop the start, with the name of their key.
func TestServe_refusesBadNetworks(t *testing.T) {
	for config, want := range map[string]string{
		"http: {clients: [10.0.0.1/8]}":         `http.clients: "10.0.0.1/8" has bits after its length: write 10.0.0.0/8, or one address`,
		"http: {proxies: [proxy.example.com]}":  `http.proxies: "proxy.example.com" is not a range of addresses`,
		"http: {proxies: [10.0.0.0/8]}":         "http.proxies names proxies: add --behind-proxy",
		"http: {linger: soon}":                  `http.linger: "soon" is not a duration`,
		"http: {clients: ['10.0.0.0/8,::1/8']}": `http.clients: "::1/8" has bits after its length: write ::/8, or one address`,
	} {
		out, err := program(t, config, "serve", "--http", "127.0.0.1:0", folder(t)).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %s, %v, want %q", config, out, err, want)
		}
	}
}
