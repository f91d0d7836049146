//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// firstLine sends bytes over a new connection and returns the status line of the response, or the error that ended the
// connection.
func firstLine(t *testing.T, addr, request string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	go io.WriteString(c, request) // ends with the connection; a refusal may come before all is sent
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && line == "" {
		return "closed"
	}
	return strings.TrimSpace(line)
}

// attacked is a server under attack.
type attacked struct{ url, addr string }

// Common headers of requests, those of the latest revision, and expected status lines.
const (
	hostileHeaders = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	discover       = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n"

	good      = "HTTP/1.1 200 OK"
	bad       = "HTTP/1.1 400 Bad Request"
	forbidden = "HTTP/1.1 403 Forbidden"
)

func discovery() string { return modern("1", "server/discover", "") }

// post returns a request with these headers and body, without a Content-Length.
func (a attacked) post(extra, body string) string {
	return "POST /mcp HTTP/1.1\r\nHost: " + a.addr + "\r\n" + hostileHeaders + extra + "\r\n" + body
}

func (a attacked) sized(extra, body string) string {
	return a.post(fmt.Sprintf("Content-Length: %d\r\n%s", len(body), extra), body)
}

// asHost returns a valid request with this Host header.
func (a attacked) asHost(name string) string {
	return strings.Replace(a.sized(discover, discovery()), "Host: "+a.addr, "Host: "+name, 1)
}

func TestHostile_httpClientsAreAnsweredAndBounded(t *testing.T) {
	dir := folder(t, guest(t, "misbehave"))
	if out, err := program(t, "", "list", dir).CombinedOutput(); err != nil {
		t.Fatalf("list: got %v, want success: %s", err, out)
	}
	url := serveURL(t, "plugins: {misbehave: {limits: {deadline: 60s, wait: 10m, concurrency: 2}}}", "--no-token", dir)
	a := attacked{url: url, addr: strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")}
	for name, c := range a.requests() {
		begin := time.Now()
		got := firstLine(t, a.addr, c[0])
		t.Logf("%-24s %-45s %v", name, got, time.Since(begin).Round(time.Millisecond))
		if !strings.HasPrefix(got, c[1]) {
			t.Errorf("%s: %s, want %s", name, got, c[1])
		}
	}
	t.Run("slow headers", a.slowHeaders)
	t.Run("sessions", a.sessions)
	t.Run("clients that leave", a.clientsThatLeave)
}

// requests returns single requests with their expected status lines.
func (a attacked) requests() map[string][2]string {
	ok := discovery()
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	return map[string][2]string{
		"a good one":            {a.sized(discover, ok), good},
		"two lengths":           {a.sized(discover+"Content-Length: 5\r\n", ok), bad},
		"length with a sign":    {a.post(discover+"Content-Length: +5\r\n", ok), bad},
		"unknown encoding":      {a.post(discover+"Transfer-Encoding: xchunked\r\n", ok), "HTTP/1.1 501 Not Implemented"},
		"two encodings":         {a.post(discover+"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", ok), "HTTP/1.1 501 Not Implemented"},
		"space before colon":    {a.sized(discover+"Host : evil\r\n", ok), bad},
		"NUL in a header":       {a.sized(discover+"X: a\x00b\r\n", ok), bad},
		"bare LF smuggling":     {a.sized(discover+"X: a\n\nGET / HTTP/1.1\r\n", ok), bad},
		"no host":               {strings.Replace(a.sized(discover, ok), "Host: "+a.addr+"\r\n", "", 1), bad},
		"two hosts":             {a.sized(discover+"Host: evil\r\n", ok), bad},
		"huge header":           {a.sized(discover+"X: "+strings.Repeat("x", 64<<10)+"\r\n", ok), "HTTP/1.1 431 Request Header Fields Too Large"},
		"rebound name":          {a.asHost("127.0.0.1.nip.io"), forbidden},
		"prefix of localhost":   {a.asHost("localhost.evil.com"), forbidden},
		"localhost with a dot":  {a.asHost("localhost."), forbidden},
		"number":                {a.asHost("2130706433"), forbidden},
		"user":                  {a.asHost("localhost@evil.com"), bad},
		"origin":                {a.sized(discover+"Origin: http://localhost.evil.com\r\n", ok), forbidden},
		"null origin":           {a.sized(discover+"Origin: null\r\n", ok), forbidden},
		"origin and a second":   {a.sized(discover+"Origin: http://localhost\r\nOrigin: http://evil.com\r\n", ok), forbidden},
		"form":                  {strings.Replace(a.sized(discover, ok), "application/json\r", "text/plain\r", 1), "HTTP/1.1 415 Unsupported Media Type"},
		"deep":                  {a.sized(discover, modern("1", "server/discover", `"x":`+deep+`,`)), bad},
		"duplicate keys":        {a.sized(discover, strings.Replace(ok, `"id":1`, `"id":1,"id":2`, 1)), bad},
		"id of a megabyte":      {a.sized(discover, modern(`"`+strings.Repeat("i", 1<<20)+`"`, "server/discover", "")), good},
		"id that is an object":  {a.sized(discover, modern(`{}`, "server/discover", "")), bad},
		"id beyond all":         {a.sized(discover, modern(`1e400`, "server/discover", "")), bad},
		"batch bomb":            {a.sized("", "["+strings.Repeat("1,", 1_000_000)+"1]"), bad},
		"header says another":   {a.sized("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n", ok), bad},
		"method in two headers": {a.sized(discover+"Mcp-Method: tools/list\r\n", ok), bad},
		"session of another":    {a.sized("Mcp-Session-Id: AAAA\r\n", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "HTTP/1.1 404 Not Found"},
		"another path":          {strings.Replace(a.sized(discover, ok), "/mcp", "/mcp/../x", 1), "HTTP/1.1 404 Not Found"},
		"20 MiB at once":        {a.post("Content-Length: 20971520\r\n", ""), "HTTP/1.1 413 Request Entity Too Large"},
		"chunks without end":    {a.post("Transfer-Encoding: chunked\r\n", strings.Repeat("100000\r\n"+strings.Repeat("x", 1<<20)+"\r\n", 20)), "HTTP/1.1 413 Request Entity Too Large"},
	}
}

func (a attacked) slowHeaders(t *testing.T) {
	for range 200 {
		c, err := net.Dial("tcp", a.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: ")
	}
	if got := firstLine(t, a.addr, a.sized(discover, discovery())); got != good {
		t.Errorf("beside them: got %s, want %s", got, good)
	}
}

func (a attacked) sessions(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for range 3000 {
		r, err := http.Post(a.url, "application/json", strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		if r.Body.Close(); r.StatusCode != 200 {
			t.Fatalf("got %s, want 200", r.Status)
		}
	}
}

// clientsThatLeave has clients that leave during their calls. The calls end with them: 200 deadlines of a minute
// would keep the last call longer than firstLine waits.
func (a attacked) clientsThatLeave(t *testing.T) {
	call := modern("1", "tools/call", `"name":"misbehave-loop",`)
	head := a.sized("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: misbehave-loop\r\nExpect: 100-continue\r\n", call)
	head = strings.TrimSuffix(head, call)
	var all sync.WaitGroup
	var read atomic.Int32
	for range 200 {
		all.Go(func() {
			c, err := net.Dial("tcp", a.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			io.WriteString(c, head)
			if line, _ := bufio.NewReader(c).ReadString('\n'); strings.HasPrefix(line, "HTTP/1.1 100 ") {
				read.Add(1)
				io.WriteString(c, call)
			} // the others are beyond the limit of connections
		})
	}
	all.Wait()
	if n := read.Load(); n < 32 {
		t.Errorf("got %d calls read, want 32 or more", n)
	}
	fine := modern("1", "tools/call", `"name":"misbehave-fine","arguments":{"text":"x"},`)
	got := firstLine(t, a.addr, a.sized("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: misbehave-fine\r\n", fine))
	if got != good {
		t.Errorf("after them: got %s, want %s", got, good)
	}
}

// TestHostile_stdioRequestsGetOneResponseEach sends invalid input. Each request gets one response, in any order, and
// the program goes on.
func TestHostile_stdioRequestsGetOneResponseEach(t *testing.T) {
	dir := folder(t, guest(t, "misbehave"))
	if out, err := program(t, "", "list", dir).CombinedOutput(); err != nil {
		t.Fatalf("list: got %v, want success: %s", err, out)
	}
	cmd := program(t, "plugins: {misbehave: {limits: {deadline: 1s}}}", "serve", dir)
	in, out := piped(t, cmd)
	answers := readAnswers(out)
	send := func(line string) { io.WriteString(in, line+"\n") }
	loop := modern(`"l"`, "tools/call", `"name":"misbehave-loop",`)
	for _, c := range []struct {
		name, send, id, want string // want is in the response to id
	}{
		{"garbage", "\x00\xff\xfe{{{", "", `-32700`},
		{"deep", modern("1", "ping", `"x":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+","), "", `-32700`},
		{"a line over the limit", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 17<<20) + `"}`, "", `-32600`},
		{"id null", modern("null", "ping", ""), "", `-32600`},
		{"id object", modern("{}", "ping", ""), "", `-32600`},
		{"id 1e400", modern("1e400", "ping", ""), "", `-32600`},
		{"duplicate keys", `{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}`, "", `-32600`},
		{"an unknown method of a megabyte", modern("6", strings.Repeat("m", 1<<20), ""), "6", `-32601`},
		{"a response", `{"jsonrpc":"2.0","id":7,"result":{}}`, "", ""},
		{"cancellations of nothing", strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`+"\n", 10_000), "", ""},
		{"one id twice", loop + "\n" + loop, `"l"`, `-32600`},
		{"the same after the first has ended", loop, `"l"`, `deadline`},
		{"arguments twice", modern("8", "tools/call", `"name":"misbehave-fine","arguments":{"text":"a","text":"b"},`), "8", `-32602`},
		{"a cursor of another", modern("9", "tools/list", `"cursor":"`+strings.Repeat("A", 1<<16)+`",`), "9", `-32602`},
	} {
		send(c.send)
		if c.want != "" {
			answer := <-answers
			for !strings.Contains(answer, c.want) || c.id != "" && !strings.Contains(answer, `"id":`+c.id) {
				t.Logf("%s: another: %.150s", c.name, answer)
				select {
				case answer = <-answers:
				case <-time.After(time.Minute):
					t.Fatalf("%s: no answer with %s", c.name, c.want)
				}
			}
			t.Logf("%-36s %.120s", c.name, answer)
		}
		next := modern(`"next"`, "tools/call", `"name":"misbehave-fine","arguments":{"text":"next"},`)
		send(next)
		for answer := range answers {
			if strings.Contains(answer, `"id":"next"`) {
				if strings.Contains(answer, `"kind":"deadline"`) { // the machine was slower than that
					send(next)
					continue
				}
				if !strings.Contains(answer, `"text":"next"`) {
					t.Errorf("after %s: got %.200s, want next", c.name, answer)
				}
				break
			}
		}
	}
	wantPeak(t, cmd, 400)
	in.Close()
	wantEnd(t, cmd)
}

// readAnswers returns the lines of a stream, each of which must be JSON, until it ends.
func readAnswers(r io.Reader) <-chan string {
	lines := make(chan string, 1000)
	go func() { // ends with the program
		defer close(lines)
		for s := bufio.NewReader(r); ; {
			line, err := s.ReadBytes('\n')
			if err != nil {
				return
			}
			if line = bytes.TrimSpace(line); json.Valid(line) {
				lines <- string(line)
			} else {
				lines <- "not JSON: " + string(line)
			}
		}
	}()
	return lines
}
