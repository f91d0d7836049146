package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

// waitingTasks is the number of tasks that wait for an answer during the memory measurement; a hundredth with -quick.
const waitingTasks = 10_000

// benchQuestions measures a call with one elicitation over HTTP, in protocol version 2026-07-28: the call, and its repetition
// with the answer. The official SDK's server has the same tool, written for two rounds; here the guest runs twice. It
// also measures the cost of waiting tasks.
func benchQuestions(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sallyport-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	host, err := newQuestionHost(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer host.close()
	alone := protocol.NewServer(host.registry, &protocol.Options{Name: "bench"})
	defer func() { _ = alone.Close(ctx) }()
	var urls []string
	for _, s := range []*protocol.Server{alone, host.server} {
		h := httptest.NewServer(streamable.NewHandler(s, &streamable.Options{Path: "/mcp"}))
		defer h.Close()
		urls = append(urls, h.URL+"/mcp")
	}
	sdk := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return askingSDK() },
		&mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: true}))
	defer sdk.Close()
	rows, err := questionRows(o, append(urls, sdk.URL))
	if err != nil {
		return nil, err
	}
	n := waitingTasks
	if o.rounds < 7 {
		n /= 100
	}
	more, err := host.waitingRows(ctx, n, dir)
	return append(rows, more...), err
}

// questionRows measures the servers in turn: this host without and with a store, and the SDK.
func questionRows(o options, urls []string) ([]row, error) {
	times := make([][]float64, len(urls))
	size := 0
	for range o.rounds {
		for i, url := range urls {
			begun, n := time.Now(), 0
			for ; time.Since(begun) < o.slice; n++ {
				state, err := callWithQuestion(url)
				if err != nil {
					return nil, err
				}
				size = max(size, len(state))
			}
			times[i] = append(times[i], float64(time.Since(begun).Microseconds())/float64(n))
		}
	}
	a, kept, b := times[0], times[1], times[2]
	r := ratios(a, b)
	return []row{
		{Name: "ask_round_trip_us", Value: median(a), Unit: "µs", note: "a call with one question over HTTP, both requests, the guest run twice"},
		{Name: "ask_round_trip_kept_us", Value: median(kept), Unit: "µs", note: "with a store, which notes on the disk that the state was used"},
		{Name: "ask_round_trip_sdk_us", Value: median(b), Unit: "µs", note: "the same in a native server of the official Go SDK"},
		{Name: "ask_over_sdk", Value: median(r), Unit: "×", note: spread(r)},
		{Name: "ask_state", Value: float64(size), Unit: "B", note: "of sealed state that the client keeps"},
	}, nil
}

// callWithQuestion makes the call, and repeats it with the answer.
func callWithQuestion(url string) (state string, err error) {
	first, err := postQuestion(url, nil)
	if err != nil {
		return "", err
	}
	if first.Result.ResultType != "input_required" || len(first.Result.InputRequests) != 1 {
		return "", fmt.Errorf("no question: %+v", first)
	}
	answers := map[string]any{}
	for key := range first.Result.InputRequests {
		answers[key] = map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}
	}
	more := map[string]any{"inputResponses": answers}
	if first.Result.RequestState != "" {
		more["requestState"] = first.Result.RequestState
	}
	second, err := postQuestion(url, more)
	if err == nil && (len(second.Result.Content) != 1 || second.Result.Content[0].Text != "Hello, Ada") {
		err = fmt.Errorf("no greeting: %+v", second)
	}
	return first.Result.RequestState, err
}

// questionAnswer is the response of a server.
type questionAnswer struct {
	Result struct {
		ResultType, RequestState string
		TaskID, Status           string
		InputRequests            map[string]json.RawMessage
		Content                  []struct{ Text string }
	}
	Error json.RawMessage
}

// askMeta is the _meta of a client of 2026-07-28 that supports elicitation.
const askMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

func postQuestion(url string, more map[string]any) (a questionAnswer, err error) {
	params := map[string]any{"name": "greet", "arguments": map[string]any{}, "_meta": json.RawMessage(askMeta)}
	for key, value := range more {
		params[key] = value
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		return a, err
	}
	q, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	q.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"greet"},
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return a, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	if err != nil || a.Error != nil || res.StatusCode != http.StatusOK {
		return a, fmt.Errorf("%s: %s: %w", res.Status, raw, errors.Join(err, errors.New("no result")))
	}
	return a, nil
}

// askingSDK is the official SDK's server with the same tool, written for two rounds.
func askingSDK() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "asks for a name and greets it"},
		func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if answer, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("Hello, ", answer.Content["name"])}}}, nil, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
				Message:         "Who are you?",
				RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string", "title": "Your name"}}},
			}}}, nil, nil
		})
	return server
}

// questionHost is this host with the plugin that asks.
type questionHost struct {
	registry *registry.Registry
	server   *protocol.Server // with a store
	close    func()
}

func newQuestionHost(ctx context.Context, dir string) (*questionHost, error) {
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	gates := hostfuncs.NewHost(&hostfuncs.Options{State: dir})
	line, err := grant.ParseLine("elicitation")
	if err != nil {
		return nil, err
	}
	bare := false
	r, err := registry.New(ctx, registry.Options{
		Engine: engine, Host: gates,
		Files:    []registry.File{{Path: guestFile("asks"), Config: registry.Config{Prefix: &bare, Grants: grant.NewSet(line)}}},
		Dialects: []registry.Dialect{{Recognises: native.Recognises, Dialect: native.New()}},
	})
	if err != nil {
		return nil, err
	}
	kept := store.New(store.Options{Dir: dir})
	h := &questionHost{registry: r, server: protocol.NewServer(r, &protocol.Options{Name: "bench", Store: kept})}
	h.close = func() {
		_ = h.server.Close(ctx)
		_ = r.Close(ctx)
		gates.Close()
		_ = kept.Close()
		_ = engine.Close(ctx)
	}
	return h, nil
}

// waitingRows opens tasks until n wait for an answer, and measures their cost.
func (h *questionHost) waitingRows(ctx context.Context, n int, dir string) ([]row, error) {
	if err := h.openTasks(ctx, 10); err != nil { // excludes one-time setup
		return nil, err
	}
	memory, goroutines, disk := heapInUse(), goruntime.NumGoroutine(), diskSize(dir)
	begun := time.Now()
	if err := h.openTasks(ctx, n); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	return []row{
		{Name: "waiting_tasks", Value: float64(n), Unit: "", note: fmt.Sprintf("%d goroutines more, opened in %v", goruntime.NumGoroutine()-goroutines, took.Round(time.Millisecond))},
		{Name: "waiting_tasks_memory", Value: float64(heapInUse()-memory) / 1024, Unit: "KiB", note: "of heap, all together"},
		{Name: "waiting_task_disk", Value: float64(diskSize(dir)-disk) / float64(n), Unit: "B", note: "each, in the store"},
	}, nil
}

// openTasks opens n tasks and waits until all ask. They are spread over several principals, because of the limit per
// caller.
func (h *questionHost) openTasks(ctx context.Context, n int) error {
	const workers, each = 4, 2500
	var work sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		work.Go(func() {
			for i := w; i < n; i += workers {
				c := h.server.Connect(protocol.ConnOptions{Principal: fmt.Sprintf("token:%d-%d", n, i/each)})
				err := openTask(ctx, c)
				c.Close()
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	work.Wait()
	close(errs)
	return <-errs
}

// openTask opens a task and waits until it asks.
func openTask(ctx context.Context, c *protocol.Conn) error {
	call := func(method string, params string) string {
		m, err := jsonrpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":%s}}`, method, params, askMeta))
		if err != nil {
			return err.Error()
		}
		return string(c.Handle(ctx, &m, func([]byte) {}).Body)
	}
	begun := call("tools/call", `"name":"later","arguments":{}`)
	_, id, ok := strings.Cut(begun, `"taskId":"`)
	if !ok {
		return errors.New(begun)
	}
	id, _, _ = strings.Cut(id, `"`)
	for {
		stands := call("tasks/get", fmt.Sprintf(`"taskId":%q`, id))
		switch {
		case strings.Contains(stands, `"status":"input_required"`):
			return nil
		case !strings.Contains(stands, `"status":"working"`):
			return errors.New(stands)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// heapInUse returns the live heap of the process, in bytes.
func heapInUse() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// diskSize returns the size of the store's files in a folder, in bytes.
func diskSize(dir string) (size int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "state.db*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			size += info.Size()
		}
	}
	return size
}
