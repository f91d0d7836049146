package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A hundred concurrent calls all get responses, from an Extism plugin, whose instances are reused one call at a time,
// and from one with a clean instance per call, on both transports.
func TestQueue_answersAHundredAtOnce(t *testing.T) {
	dir := extismFolder(t)
	for name, s := range map[string]*mcp.ClientSession{
		"stdio": connect(t, "", dir),
		"http":  session(t, &mcp.StreamableClientTransport{Endpoint: serveURL(t, "", "--no-token", dir)}, nil),
	} {
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "letters-count", Arguments: map[string]any{"text": "hello"}})
				if err != nil || r.IsError || text(r) != "3 vowels" {
					t.Errorf("%s: got %+v, %v, want %q", name, r, err, "3 vowels")
				}
			})
		}
		calls.Wait()
	}
}

// A full queue is status 503 with Retry-After over HTTP, and the error is retryable.
func TestQueue_refusesRetryablyWhenFull(t *testing.T) {
	url := serveURL(t, "plugins: {misbehave: {limits: {deadline: 5m, wait: 4m, concurrency: 1, queue: 1}}}", "--no-token", folder(t, guest(t, "misbehave")))
	ctx, cancel := context.WithCancel(t.Context())
	type answer struct {
		status int
		retry  string
		body   string
		err    error
	}
	answers := make(chan answer, 3)
	for i := range 3 { // one runs, one waits, one is over the limit
		go func() {
			body := modern(fmt.Sprint(i), "tools/call", `"name":"misbehave-loop","arguments":{},`)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				answers <- answer{err: err}
				return
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"misbehave-loop"}}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				answers <- answer{err: err}
				return
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			answers <- answer{res.StatusCode, res.Header.Get("Retry-After"), string(text), err}
		}()
	}
	a := <-answers
	if a.status != 503 || a.retry == "" || !strings.Contains(a.body, `"message":"too many calls: 1 run and 1 wait (limits.queue): try again","data":{"kind":"limit","retryable":true,"retryAfterMs":`) {
		t.Errorf("got %+v, want 503", a)
	}
	cancel()
	for range 2 {
		if a := <-answers; a.err == nil {
			t.Errorf("a call that does not end has an answer: %+v", a)
		}
	}
}
