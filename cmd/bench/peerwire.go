package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// pipe calls a server on standard input and output.
type pipe struct {
	in   io.Writer
	out  *bufio.Reader
	sent int
}

func newPipe(in io.Writer, out io.Reader) (*pipe, error) {
	p := &pipe{in: in, out: bufio.NewReaderSize(out, 1<<20)}
	if _, err := io.WriteString(in, helloRequest+"\n"); err != nil {
		return nil, err
	}
	if _, err := p.answer(); err != nil {
		return nil, err
	}
	_, err := io.WriteString(in, helloNotice+"\n")
	return p, err
}

// answer reads the next line that is not a notification.
func (p *pipe) answer() ([]byte, error) {
	for {
		line, err := p.out.ReadSlice('\n')
		if err != nil || !bytes.Contains(line[:min(len(line), 200)], []byte(`"method":"notifications/`)) {
			return line, err
		}
	}
}

// ask sends a request and returns its answer. No call may be in flight.
func (p *pipe) ask(method string) ([]byte, error) {
	p.sent++
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q}`+"\n", p.sent, method); err != nil {
		return nil, err
	}
	return p.answer()
}

// once makes one call.
func (p *pipe) once(c toolCall) error {
	p.sent++
	if _, err := p.in.Write(append(c.append(nil, p.sent), '\n')); err != nil {
		return err
	}
	line, err := p.answer()
	if err == nil && !c.isAnswer(line) {
		err = fmt.Errorf("unexpected answer: %.300s", line)
	}
	return err
}

// calls writes in this goroutine and reads in a second one, so that full pipes cannot deadlock.
func (p *pipe) calls(c toolCall, inFlight int, slice time.Duration) ([]time.Duration, error) {
	f := &flight{sent: map[int]time.Time{}, slots: make(chan struct{}, inFlight), due: make(chan struct{}, inFlight)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.land(p, c)
	}()
	var request []byte
	var err error
	for end := time.Now().Add(slice); (time.Now().Before(end) || request == nil) && err == nil && f.problem() == nil; {
		f.slots <- struct{}{}
		p.sent++
		request = append(c.append(request[:0], p.sent), '\n')
		f.leave(p.sent)
		_, err = p.in.Write(request)
	}
	close(f.due)
	<-done
	return f.latencies, errors.Join(err, f.err)
}

// flight tracks the calls that wait for their answers.
type flight struct {
	slots chan struct{} // one token per call
	due   chan struct{} // the same, for the reader

	mu        sync.Mutex
	sent      map[int]time.Time
	latencies []time.Duration
	err       error // the first error
}

func (f *flight) problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *flight) leave(id int) {
	f.mu.Lock()
	f.sent[id] = time.Now()
	f.mu.Unlock()
	f.due <- struct{}{}
}

// land reads an answer for each call, even after an error: otherwise the server would block on a full pipe.
func (f *flight) land(p *pipe, c toolCall) {
	for range f.due {
		line, err := p.answer()
		now := time.Now()
		if err == nil && !c.isAnswer(line) {
			err = fmt.Errorf("unexpected answer: %.300s", line)
		}
		f.mu.Lock()
		if f.err == nil {
			f.err = err
		}
		id := idOf(line)
		f.latencies = append(f.latencies, now.Sub(f.sent[id]))
		delete(f.sent, id)
		f.mu.Unlock()
		<-f.slots
	}
}

// idOf returns the id of an answer; servers write it at either end.
func idOf(line []byte) int {
	i := bytes.Index(line[:min(len(line), 100)], []byte(`"id":`))
	if i < 0 {
		i = bytes.LastIndex(line, []byte(`"id":`))
	}
	if i < 0 {
		return 0
	}
	n := 0
	for _, c := range line[i+5:] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// web calls a server over HTTP.
type web struct {
	url     string
	session string
	client  *http.Client
}

func dialHTTP(url string) (*web, error) {
	w := &web{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	ctx := context.Background()
	if _, err := w.post(ctx, []byte(helloRequest)); err != nil {
		return nil, err
	}
	_, err := w.post(ctx, []byte(helloNotice))
	return w, err
}

// post sends one message and returns the response body.
func (w *web) post(ctx context.Context, message []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	if w.session != "" {
		req.Header.Set("Mcp-Session-Id", w.session)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.300s", res.Status, body)
	}
	if s := res.Header.Get("Mcp-Session-Id"); s != "" && w.session == "" {
		w.session = s
	}
	return body, err
}

// calls uses a goroutine for each call in flight.
func (w *web) calls(c toolCall, inFlight int, slice time.Duration) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var callers sync.WaitGroup
	end := time.Now().Add(slice)
	for n := range inFlight {
		callers.Go(func() {
			latencies, err := w.callAlone(c, n*1_000_000, end)
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, latencies...), errors.Join(failed, err)
		})
	}
	callers.Wait()
	return all, failed
}

// callAlone makes calls one after the other.
func (w *web) callAlone(c toolCall, id int, end time.Time) (latencies []time.Duration, err error) {
	var request []byte
	for time.Now().Before(end) || len(latencies) == 0 {
		id++
		request = c.append(request[:0], id)
		begin := time.Now()
		body, err := w.post(context.Background(), request)
		if err == nil && !c.isAnswer(body) {
			err = fmt.Errorf("unexpected answer: %.300s", body)
		}
		if err != nil {
			return latencies, err
		}
		latencies = append(latencies, time.Since(begin))
	}
	return latencies, nil
}
