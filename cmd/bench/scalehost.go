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
	"strings"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/transport/auth"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

// scaleKinds are the kinds of calls of the capacity model.
var scaleKinds = []string{"plain", "session", "kv", "key", "question", "task"}

// scaleClient calls the guest asks over HTTP.
type scaleClient struct {
	url, token string
	session    string // of 2025-11-25
	keys       string // prefix of idempotency keys
	made       int
	client     *http.Client
}

// call makes one call of a kind, with all of its requests.
func (c *scaleClient) call(kind string) error {
	switch kind {
	case "plain":
		_, err := c.tool("echo", nil)
		return err
	case "session":
		return c.legacyCall()
	case "kv":
		_, err := c.tool("note", nil)
		return err
	case "key":
		c.made++
		_, err := c.tool("echo", map[string]any{"dev.sallyport/idempotencyKey": fmt.Sprint(c.keys, c.made)})
		return err
	case "question":
		return c.question()
	case "task":
		return c.task()
	}
	return fmt.Errorf("no kind %q", kind)
}

// tool calls a tool in 2026-07-28, with more members of _meta.
func (c *scaleClient) tool(name string, meta map[string]any) (questionAnswer, error) {
	return c.modern("tools/call", name, map[string]any{"name": name, "arguments": map[string]any{}}, meta)
}

func (c *scaleClient) question() error {
	first, err := c.tool("greet", nil)
	if err != nil {
		return err
	}
	params := map[string]any{"name": "greet", "arguments": map[string]any{}, "requestState": first.Result.RequestState}
	answers := map[string]any{}
	for key := range first.Result.InputRequests {
		answers[key] = map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}
	}
	params["inputResponses"] = answers
	second, err := c.modern("tools/call", "greet", params, nil)
	if err == nil && (len(second.Result.Content) != 1 || second.Result.Content[0].Text != "Hello, Ada") {
		err = fmt.Errorf("no greeting: %+v", second)
	}
	return err
}

// task opens a task and asks for it until it has ended.
func (c *scaleClient) task() error {
	begun, err := c.tool("job", nil)
	if err != nil {
		return err
	}
	for state := "working"; state != "completed"; {
		a, err := c.modern("tasks/get", begun.Result.TaskID, map[string]any{"taskId": begun.Result.TaskID}, nil)
		if state = a.Result.Status; err != nil || state != "working" && state != "completed" {
			return fmt.Errorf("task: got %q, %w", state, errors.Join(err, errors.New("want completed")))
		}
	}
	return nil
}

// modern makes a request of 2026-07-28.
func (c *scaleClient) modern(method, name string, params, more map[string]any) (a questionAnswer, err error) {
	meta := map[string]any{}
	if err := json.Unmarshal([]byte(askMeta), &meta); err != nil {
		return a, err
	}
	for key, value := range more {
		meta[key] = value
	}
	params["_meta"] = meta
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return a, err
	}
	raw, _, err := c.post(body, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}, "Mcp-Name": {name}})
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	if err != nil || a.Error != nil {
		return a, fmt.Errorf("%s: %s: %w", method, raw, errors.Join(err, errors.New("no result")))
	}
	return a, nil
}

// begin opens a session of 2025-11-25, and returns its ID.
func (c *scaleClient) begin() (id string, err error) {
	_, header, err := c.post([]byte(helloRequest), nil)
	if err != nil {
		return "", err
	}
	id = header.Get("Mcp-Session-Id")
	_, _, err = c.post([]byte(helloNotice), sessionHeader(id))
	return id, err
}

func sessionHeader(id string) http.Header {
	return http.Header{"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Session-Id": {id}}
}

// legacyCall calls the tool in a session, which the first call opens.
func (c *scaleClient) legacyCall() (err error) {
	if c.session == "" {
		if c.session, err = c.begin(); err != nil {
			return err
		}
	}
	raw, _, err := c.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`), sessionHeader(c.session))
	if err == nil && !bytes.Contains(raw, []byte(`"Hello"`)) {
		err = fmt.Errorf("no greeting: %.300s", raw)
	}
	return err
}

// post sends one message and returns the body and the header of its response.
func (c *scaleClient) post(body []byte, header http.Header) ([]byte, http.Header, error) {
	r, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for key, values := range header {
		r.Header[key] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.300s", res.Status, raw)
	}
	return raw, res.Header, err
}

// storedBy makes n calls of a kind in a host of this process with a store in a new folder. It returns the writing
// transactions of a call, and the bytes that it leaves in the file.
func storedBy(ctx context.Context, kind string, n int) (writes, size float64, err error) {
	dir, err := os.MkdirTemp("", "sallyport-bench")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var count atomic.Int64
	o := store.Options{Dir: dir, Reached: func(step string) error {
		if step == "committed" {
			count.Add(1)
		}
		return nil
	}}
	if err := scaleCalls(ctx, o, kind, "first", 1); err != nil { // creates the file
		return 0, 0, err
	}
	before := diskSize(dir)
	count.Store(0)
	if err := scaleCalls(ctx, o, kind, "next", n); err != nil {
		return 0, 0, err
	}
	return float64(count.Load()) / float64(n), float64(diskSize(dir)-before) / float64(n), nil
}

// scaleCalls makes n calls of a kind, and closes the store, which moves the log of the database into its file.
func scaleCalls(ctx context.Context, o store.Options, kind, keys string, n int) error {
	h, err := newScaleHost(ctx, o)
	if err != nil {
		return err
	}
	h.client.keys = keys
	for range n {
		if err := h.client.call(kind); err != nil {
			return errors.Join(err, h.close())
		}
	}
	return h.close()
}

// scaleHost is a host of this process with the guest asks.
type scaleHost struct {
	client *scaleClient
	close  func() error
}

func newScaleHost(ctx context.Context, o store.Options) (*scaleHost, error) {
	engine, err := benchEngine(ctx)
	if err != nil {
		return nil, err
	}
	kept := store.New(o)
	gates := hostfuncs.NewHost(&hostfuncs.Options{State: o.Dir, Store: kept})
	var lines []grant.Grant
	for _, text := range []string{"elicitation", "kv: 16MiB"} {
		line, err := grant.ParseLine(text)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	bare := false
	r, err := registry.New(ctx, registry.Options{
		Engine: engine, Host: gates,
		Files:    []registry.File{{Path: guestFile("asks"), Config: registry.Config{Prefix: &bare, Grants: grant.NewSet(lines...)}}},
		Dialects: []registry.Dialect{{Recognises: native.Recognises, Dialect: native.New()}},
	})
	if err != nil {
		return nil, err
	}
	server := protocol.NewServer(r, &protocol.Options{Name: "bench", Store: kept})
	token := auth.New()
	tokens, err := auth.Parse(strings.NewReader(auth.Line("bench", token)))
	if err != nil {
		return nil, err
	}
	web := httptest.NewServer(streamable.NewHandler(server, &streamable.Options{Path: "/mcp", Tokens: tokens, Sessions: 2 * scaleSessions}))
	return &scaleHost{
		client: &scaleClient{url: web.URL + "/mcp", token: token, client: web.Client()},
		close: func() error {
			web.Close()
			err := errors.Join(server.Close(ctx), r.Close(ctx))
			gates.Close()
			return errors.Join(err, kept.Close(), engine.Close(ctx))
		},
	}, nil
}
