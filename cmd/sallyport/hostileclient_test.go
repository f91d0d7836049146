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
	"testing"
	"time"
)

// firstLine sends bytes over a connection of its own and returns the status line that comes back, or
// what ended the connection.
func firstLine(t *testing.T, addr, request string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(15 * time.Second))
	go io.WriteString(c, request) // ends with the connection; a refusal may come before all of it
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && line == "" {
		return "closed"
	}
	return strings.TrimSpace(line)
}

// modern is a request that needs no session.
func modern(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

func TestHostile_httpClient(t *testing.T) {
	dir := folder(t, guest(t, "misbehave"))
	if out, err := program(t, "", "list", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	url := serveURL(t, "plugins: {misbehave: {limits: {deadline: 2s, concurrency: 2}}}", "--no-token", dir)
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	const headers = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	post := func(extra, body string) string {
		return "POST /mcp HTTP/1.1\r\nHost: " + addr + "\r\n" + headers + extra + "\r\n" + body
	}
	sized := func(extra, body string) string {
		return post(fmt.Sprintf("Content-Length: %d\r\n%s", len(body), extra), body)
	}
	discover := "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n"
	ok := modern("1", "server/discover", "")
	host := func(h string) string {
		return strings.Replace(sized(discover, ok), "Host: "+addr, "Host: "+h, 1)
	}
	const good, bad, forbidden = "HTTP/1.1 200 OK", "HTTP/1.1 400 Bad Request", "HTTP/1.1 403 Forbidden"
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, c := range map[string][2]string{
		"a good one":            {sized(discover, ok), good},
		"two lengths":           {sized(discover+"Content-Length: 5\r\n", ok), bad},
		"length with a sign":    {post(discover+"Content-Length: +5\r\n", ok), bad},
		"unknown encoding":      {post(discover+"Transfer-Encoding: xchunked\r\n", ok), "HTTP/1.1 501 Not Implemented"},
		"two encodings":         {post(discover+"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", ok), "HTTP/1.1 501 Not Implemented"},
		"space before colon":    {sized(discover+"Host : evil\r\n", ok), bad},
		"NUL in a header":       {sized(discover+"X: a\x00b\r\n", ok), bad},
		"bare LF smuggling":     {sized(discover+"X: a\n\nGET / HTTP/1.1\r\n", ok), bad},
		"no host":               {strings.Replace(sized(discover, ok), "Host: "+addr+"\r\n", "", 1), bad},
		"two hosts":             {sized(discover+"Host: evil\r\n", ok), bad},
		"huge header":           {sized(discover+"X: "+strings.Repeat("x", 64<<10)+"\r\n", ok), "HTTP/1.1 431 Request Header Fields Too Large"},
		"rebound name":          {host("127.0.0.1.nip.io"), forbidden},
		"prefix of localhost":   {host("localhost.evil.com"), forbidden},
		"localhost with a dot":  {host("localhost."), forbidden},
		"number":                {host("2130706433"), forbidden},
		"user":                  {host("localhost@evil.com"), bad},
		"origin":                {sized(discover+"Origin: http://localhost.evil.com\r\n", ok), forbidden},
		"null origin":           {sized(discover+"Origin: null\r\n", ok), forbidden},
		"origin and a second":   {sized(discover+"Origin: http://localhost\r\nOrigin: http://evil.com\r\n", ok), forbidden},
		"form":                  {strings.Replace(sized(discover, ok), "application/json\r", "text/plain\r", 1), "HTTP/1.1 415 Unsupported Media Type"},
		"deep":                  {sized(discover, modern("1", "server/discover", `"x":`+deep+`,`)), bad},
		"duplicate keys":        {sized(discover, strings.Replace(ok, `"id":1`, `"id":1,"id":2`, 1)), bad},
		"id of a megabyte":      {sized(discover, modern(`"`+strings.Repeat("i", 1<<20)+`"`, "server/discover", "")), good},
		"id that is an object":  {sized(discover, modern(`{}`, "server/discover", "")), bad},
		"id beyond all":         {sized(discover, modern(`1e400`, "server/discover", "")), bad},
		"batch bomb":            {sized("", "["+strings.Repeat("1,", 1_000_000)+"1]"), bad},
		"header says another":   {sized("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n", ok), bad},
		"method in two headers": {sized(discover+"Mcp-Method: tools/list\r\n", ok), bad},
		"session of another":    {sized("Mcp-Session-Id: AAAA\r\n", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "HTTP/1.1 404 Not Found"},
		"another path":          {strings.Replace(sized(discover, ok), "/mcp", "/mcp/../x", 1), "HTTP/1.1 404 Not Found"},
		"20 MiB at once":        {post("Content-Length: 20971520\r\n", ""), "HTTP/1.1 413 Request Entity Too Large"},
		"chunks without end":    {post("Transfer-Encoding: chunked\r\n", strings.Repeat("100000\r\n"+strings.Repeat("x", 1<<20)+"\r\n", 20)), "HTTP/1.1 413 Request Entity Too Large"},
	} {
		begin := time.Now()
		got := firstLine(t, addr, c[0])
		t.Logf("%-24s %-45s %v", name, got, time.Since(begin).Round(time.Millisecond))
		if !strings.HasPrefix(got, c[1]) {
			t.Errorf("%s: %s, want %s", name, got, c[1])
		}
	}

	t.Run("slow headers", func(t *testing.T) {
		for range 200 {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: ")
		}
		if got := firstLine(t, addr, sized(discover, ok)); got != good {
			t.Errorf("beside them: %s", got)
		}
	})
	t.Run("sessions", func(t *testing.T) {
		const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		for range 3000 {
			r, err := http.Post(url, "application/json", strings.NewReader(initialize))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, r.Body)
			if r.Body.Close(); r.StatusCode != 200 {
				t.Fatalf("%s", r.Status)
			}
		}
	})
	t.Run("clients that leave", func(t *testing.T) {
		call := modern("1", "tools/call", `"name":"misbehave-loop",`)
		request := sized("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: misbehave-loop\r\n", call)
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(c, request)
				time.Sleep(20 * time.Millisecond)
				c.Close()
			})
		}
		all.Wait()
		begin := time.Now()
		fine := modern("1", "tools/call", `"name":"misbehave-fine","arguments":{"text":"x"},`)
		got := firstLine(t, addr, sized("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: misbehave-fine\r\n", fine))
		if d := time.Since(begin); got != good || d > 1500*time.Millisecond {
			t.Errorf("after them: %s after %v", got, d)
		}
	})
}

// TestHostile_stdioClient sends what no client should; each line with an answer gets one, in some
// order, and the program goes on.
func TestHostile_stdioClient(t *testing.T) {
	dir := folder(t, guest(t, "misbehave"))
	if out, err := program(t, "", "list", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := program(t, "plugins: {misbehave: {limits: {deadline: 1s}}}", "serve", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := readAnswers(out)
	send := func(line string) { io.WriteString(in, line+"\n") }
	loop := modern(`"l"`, "tools/call", `"name":"misbehave-loop",`)
	for _, c := range []struct {
		name, send, id, want string // want is in the answer to id
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
				case <-time.After(5 * time.Second):
					t.Fatalf("%s: no answer with %s", c.name, c.want)
				}
			}
			t.Logf("%-36s %.120s", c.name, answer)
		}
		send(modern(`"next"`, "tools/call", `"name":"misbehave-fine","arguments":{"text":"next"},`))
		for answer := range answers {
			if strings.Contains(answer, `"id":"next"`) {
				if !strings.Contains(answer, `"text":"next"`) {
					t.Errorf("after %s: %.200s", c.name, answer)
				}
				break
			}
		}
	}
	wantPeak(t, cmd, 400)
	in.Close()
	wantEnd(t, cmd)
}

// readAnswers returns the lines of a stream, which are JSON every one, until it ends.
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
