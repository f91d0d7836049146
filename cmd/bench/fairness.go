package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

const (
	crowdClients = 200 // concurrent clients of one caller
	crowdCalls   = 200 // of each
	crowdWork    = time.Millisecond

	strangers  = 1100 // idle connections without a token
	halfBodies = 40   // unfinished messages of 16 MB, of one caller
	guestCalls = 200  // calls of a different caller meanwhile
)

// names is a Verifier with the caller names as tokens.
type names []string

// Verify accepts the names as tokens.
func (n names) Verify(token string) (string, string, bool) {
	return token, token, slices.Contains(n, token)
}

// serveFairness serves the plugin busy with default settings, on HTTP with tokens, until ctx is done.
func serveFairness(ctx context.Context, ready func(url string)) error {
	engine, err := benchEngine(ctx)
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	gates := hostfuncs.NewHost(&hostfuncs.Options{})
	defer gates.Close()
	bare := false
	r, err := registry.New(ctx, registry.Options{
		Engine: engine, Host: gates, Dialects: []registry.Dialect{{Recognises: native.Recognises, Dialect: native.New()}},
		Files: []registry.File{{Path: guestFile("busy"), Config: registry.Config{Prefix: &bare}}},
	})
	if err != nil {
		return err
	}
	defer r.Close(context.WithoutCancel(ctx))
	server := protocol.NewServer(r, &protocol.Options{Name: "crowd", Version: "1"})
	defer server.Close(context.WithoutCancel(ctx))
	o := &streamable.Options{Addr: "127.0.0.1:0", Tokens: names{"crowd", "one", "half"}, Drain: -1}
	l, err := streamable.Listen(o)
	if err != nil {
		return err
	}
	ready(l.URL())
	return l.Serve(ctx, streamable.NewHandler(server, o))
}

// fairnessClient is one client of the crowd, with its own session and connection.
type fairnessClient struct {
	web
	token string
}

func newFairnessClient(url, token string) (*fairnessClient, error) {
	c := &fairnessClient{web{url: url, client: &http.Client{Transport: &bearer{&http.Transport{}, token}}}, token}
	if _, err := c.post(context.Background(), []byte(helloRequest)); err != nil {
		return nil, err
	}
	_, err := c.post(context.Background(), []byte(helloNotice))
	return c, err
}

// bearer adds a token.
type bearer struct {
	*http.Transport
	token string
}

// RoundTrip sends the request with the token.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

// work calls the tool once. A refusal is an error.
func (c *fairnessClient) work(id, steps int) (time.Duration, error) {
	text := payload(100)
	message := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","arguments":{"text":%q,"steps":%d}}}`, id, text, steps)
	begin := time.Now()
	body, err := c.post(context.Background(), message)
	if err == nil && !echoCall(text).isAnswer(body) {
		err = fmt.Errorf("unexpected answer: %.300s", body)
	}
	return time.Since(begin), err
}

// calibrate returns the number of steps that make a single caller's call longer by crowdWork.
func (c *fairnessClient) calibrate() (int, error) {
	quickest := func(steps int) (best time.Duration, err error) {
		for i := range 50 {
			took, err := c.work(i, steps)
			if err != nil {
				return 0, err
			}
			if best == 0 || took < best {
				best = took
			}
		}
		return best, nil
	}
	const probe = 1_000_000
	idle, err := quickest(0)
	if err != nil {
		return 0, err
	}
	full, err := quickest(probe)
	if err != nil {
		return 0, err
	}
	return int(probe * crowdWork / max(full-idle, time.Microsecond)), nil
}

// benchFairness measures the waiting time of many callers, and that idle connections lock no caller out.
func benchFairness(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	p, err := launch(ctx, "crowd", "crowd")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	one, err := newFairnessClient(p.url, "one")
	if err != nil {
		return nil, err
	}
	steps, err := one.calibrate()
	if err != nil {
		return nil, err
	}
	rows, err := measureWaiting(p.url, one, steps, max(crowdCalls*o.calls/20_000, 10))
	if err != nil {
		return nil, err
	}
	more, err := measureIdleConnections(p.url, one, steps)
	return append(rows, more...), err
}

func measureWaiting(url string, one *fairnessClient, steps, calls int) ([]row, error) {
	clients := make([]*fairnessClient, crowdClients)
	for i := range clients {
		var err error
		if clients[i], err = newFairnessClient(url, "crowd"); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	var all []time.Duration
	var refused atomic.Int64
	var first error
	var crowd sync.WaitGroup
	begin := time.Now()
	for _, c := range clients {
		crowd.Go(func() {
			for i := range calls {
				took, err := c.work(i, steps)
				if err != nil {
					refused.Add(1)
				}
				mu.Lock()
				all, first = append(all, took), errors.Join(first, ignoreIf(first != nil, err))
				mu.Unlock()
			}
		})
	}
	over := make(chan struct{})
	go func() { crowd.Wait(); close(over) }()
	beside, err := one.beside(over, steps)
	if err != nil {
		return nil, fmt.Errorf("the caller beside the crowd: %w", err)
	}
	note := fmt.Sprintf("%d clients of one caller, %d calls each of a tool of 1 ms, default settings, in %.1f s", crowdClients, calls, time.Since(begin).Seconds())
	if first != nil {
		note += ": " + first.Error()
	}
	return []row{
		{Name: "crowd_answers", Value: float64(int64(len(all)) - refused.Load()), Unit: "calls", note: note},
		{Name: "crowd_refusals", Value: float64(refused.Load()), Unit: "calls"},
		{Name: "crowd_p50_ms", Value: milliseconds(percentile(all, 50)), Unit: "ms"},
		{Name: "crowd_p99_ms", Value: milliseconds(percentile(all, 99)), Unit: "ms", note: "to be under 1000 on two cores"},
		{Name: "crowd_beside_p50_ms", Value: milliseconds(percentile(beside, 50)), Unit: "ms", note: fmt.Sprintf("another caller with one call in flight, %d calls; to be under 200", len(beside))},
	}, nil
}

func ignoreIf(yes bool, err error) error {
	if yes {
		return nil
	}
	return err
}

// beside makes calls one after the other until over is closed.
func (c *fairnessClient) beside(over <-chan struct{}, steps int) (all []time.Duration, err error) {
	for id := 0; ; id++ {
		select {
		case <-over:
			return all, nil
		default:
		}
		took, err := c.work(id, steps)
		if err != nil {
			return all, err
		}
		all = append(all, took)
	}
}

// percentile returns the p-th percentile.
func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

func microseconds(d time.Duration) float64 { return float64(d) / 1e3 }

// measureIdleConnections makes calls beside idle connections and unfinished messages.
func measureIdleConnections(address string, one *fairnessClient, steps int) ([]row, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	half := head + "Authorization: Bearer half\r\nContent-Length: 16000000\r\n\r\n" + strings.Repeat(" ", 1<<20)
	for i := range strangers + halfBodies {
		c, err := net.Dial("tcp", at.Host)
		if err != nil {
			return nil, err
		}
		open = append(open, c)
		switch {
		case i >= strangers:
			go func() { _, _ = io.Copy(c, bytes.NewReader([]byte(half))) }() // as much as the server reads
		case i%2 == 0:
			go func() { _, _ = io.WriteString(c, head+"Content-Length: 0\r\n\r\n") }()
		}
	}
	var all []time.Duration
	for i := range guestCalls {
		if i%20 == 0 {
			one.client.CloseIdleConnections() // opens a new connection
		}
		took, err := one.work(i, steps)
		if err != nil {
			return nil, fmt.Errorf("a call beside strangers: %w", err)
		}
		all = append(all, took)
	}
	return []row{
		{Name: "strangers_answers", Value: float64(len(all)), Unit: "calls", note: fmt.Sprintf("of %d, beside %d connections without a token and %d half messages", guestCalls, strangers, halfBodies)},
		{Name: "strangers_max_ms", Value: milliseconds(slices.Max(all)), Unit: "ms", note: "to be under 1000"},
	}, nil
}
