package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// fake is a protocol server controlled by the tests.
//
//	initialize         a legacy session of the version asked for; "none" is an error
//	tools/call echo    the argument "text"
//	tools/call talk    two notifications, then a result
//	tools/call wait    nothing until release is closed or ctx ends; talks first if text is "talk", releases
//	                   its connection if text is "release"
//	tools/call busy    an error, since there is no room for 1.5 s; talks first if text is "talk"
//	tools/call quota   an error, since the caller has used its quota up for an hour
//	tools/call scope   an error, since the scopes files and list are needed; talks first if text is "talk"
//	tools/call error   a JSON-RPC error of the code in the argument "code"
//	unknown            -32601, refused
type fake struct {
	release chan struct{}
	entered chan struct{}
	left    chan error // cause of each wait's end
	params  []protocol.HeaderParam

	connected, closed atomic.Int32
	mu                sync.Mutex
	principals        []string
	notify            func([]byte) // of the last conn that receives notifications
}

// say notifies the last session.
func (f *fake) say(msg string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notify([]byte(msg))
}

func newFake() *fake {
	return &fake{release: make(chan struct{}), entered: make(chan struct{}, 100), left: make(chan error, 100)}
}

func (f *fake) connect(o protocol.ConnOptions) conn {
	f.connected.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.principals = append(f.principals, o.Principal)
	if o.Notify != nil {
		f.notify = o.Notify
	}
	return &fakeConn{fake: f}
}

func (f *fake) HeaderParams(_ identity.Identity, tool string) []protocol.HeaderParam {
	if tool == "echo" {
		return f.params
	}
	return nil
}

func (f *fake) EndSubscriptions() {}

func (f *fake) principal() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.principals[len(f.principals)-1]
}

type fakeConn struct {
	*fake
	state   protocol.SessionState
	mu      sync.Mutex
	over    bool
	running sync.WaitGroup
}

func (c *fakeConn) State() protocol.SessionState  { return c.state }
func (c *fakeConn) Adopt(s protocol.SessionState) { c.state = s }

func (c *fakeConn) AnnounceAll() {}
func (c *fakeConn) Waiting() int { return 0 }

func (c *fakeConn) Close() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.running.Wait()
	c.closed.Add(1)
}

func (c *fakeConn) Handle(ctx context.Context, m *jsonrpc.Message, send func([]byte)) protocol.Response {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return protocol.Response{}
	}
	c.running.Add(1)
	c.mu.Unlock()
	defer c.running.Done()
	r := protocol.Response{Modern: envelope.IsModern(m)}
	if !m.IsRequest() {
		return r
	}
	result := json.RawMessage(`{}`)
	switch m.Method {
	case "initialize":
		v, _ := jsonraw.String(jsonraw.Get(m.Params, "protocolVersion"))
		if v == "none" {
			return c.failed(r, m, jsonrpc.CodeInvalidParams, false)
		}
		r.Initialized = v
	case "ping", "tools/list", "resources/read", "prompts/get":
	case "tools/call":
		if code := jsonraw.Get(m.Params, "arguments", "code"); code != nil {
			var n int
			json.Unmarshal(code, &n)
			return c.failed(r, m, n, false)
		}
		if result = c.call(ctx, m, send); result == nil {
			return r
		}
		switch name, _ := jsonraw.String(jsonraw.Get(m.Params, "name")); name {
		case "busy":
			r.Busy = 1500 * time.Millisecond
			return c.failed(r, m, jsonrpc.CodeInternal, false)
		case "quota":
			r.Busy, r.Quota = time.Hour, true
			return c.failed(r, m, jsonrpc.CodeInternal, false)
		case "scope":
			r.Scopes = []string{"files", "list"}
			return c.failed(r, m, jsonrpc.CodeInvalidRequest, false)
		}
	default:
		return c.failed(r, m, jsonrpc.CodeMethodNotFound, true)
	}
	r.Body = jsonrpc.AppendResult(nil, m.ID, result)
	return r
}

func (c *fakeConn) failed(r protocol.Response, m *jsonrpc.Message, code int, refused bool) protocol.Response {
	r.Err, r.Refused = &jsonrpc.Error{Code: code, Message: "no"}, refused
	r.Body = jsonrpc.AppendError(nil, m.ID, r.Err)
	return r
}

func (c *fakeConn) call(ctx context.Context, m *jsonrpc.Message, send func([]byte)) json.RawMessage {
	name, _ := jsonraw.String(jsonraw.Get(m.Params, "name"))
	text := jsonraw.Get(m.Params, "arguments", "text")
	if name == "talk" || string(text) == `"talk"` {
		for i := range 2 {
			send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i))
		}
	}
	if string(text) == `"release"` {
		send(nil)
	}
	switch name {
	case "echo":
		if text != nil {
			return text
		}
	case "wait":
		c.entered <- struct{}{}
		select {
		case <-ctx.Done():
			c.left <- ctx.Err()
			return nil
		case <-c.release:
			c.left <- nil
		}
	}
	return json.RawMessage(`{"done":true}`)
}

func (c *fakeConn) HandleBatch(_ context.Context, data []byte, _ func([]byte)) protocol.Response {
	list, err := jsonrpc.SplitBatch(data)
	if err != nil {
		e := err.(*jsonrpc.Error)
		return protocol.Response{Body: jsonrpc.AppendError(nil, nil, e), Err: e, Refused: true}
	}
	if strings.Contains(string(data), "notifications/") {
		return protocol.Response{}
	}
	return protocol.Response{Body: fmt.Appendf(nil, `["%d messages"]`, len(list))}
}

// site is a running handler.
type site struct {
	t   *testing.T
	h   *Handler
	url string
}

func start(t *testing.T, f *fake, o *Options) *site {
	t.Helper()
	h := newHandler(f, o)
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Client().CloseIdleConnections()
		h.Close()
		s.Close()
	})
	return &site{t, h, s.URL + "/mcp"}
}

// headers are the headers of a request. A value of "-" removes a default one.
type headers map[string]string

var defaultHeaders = headers{
	"Content-Type": "application/json",
	"Accept":       "application/json, text/event-stream",
}

func (s *site) request(ctx context.Context, method, body string, extra headers) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	all := maps.Clone(defaultHeaders)
	maps.Copy(all, extra)
	for key, value := range all {
		switch {
		case value == "-":
		case key == "Host":
			r.Host = value
		default:
			for v := range strings.SplitSeq(value, "\n") {
				r.Header.Add(key, v)
			}
		}
	}
	return r
}

// do sends a request and reads the whole response.
func (s *site) do(method, body string, extra headers) (*http.Response, string) {
	s.t.Helper()
	response, err := http.DefaultClient.Do(s.request(s.t.Context(), method, body, extra))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(text)
}

// want sends a request and compares status and body.
func (s *site) want(name, method, body string, extra headers, status int, text string) *http.Response {
	s.t.Helper()
	response, got := s.do(method, body, extra)
	if response.StatusCode != status || got != text {
		s.t.Errorf("%s:\ngot  %d %s\nwant %d %s", name, response.StatusCode, got, status, text)
	}
	return response
}

func errorBody(id string, code int, message string) string {
	return string(jsonrpc.AppendError(nil, []byte(id), &jsonrpc.Error{Code: code, Message: message}))
}

// refused returns the body of a refusal without a message id.
func refused(message string) string { return refusedBody(jsonrpc.CodeInvalidRequest, message) }

// unreadable returns the response to a message with an unreadable id.
func unreadable(message string) string { return errorBody("null", jsonrpc.CodeInvalidRequest, message) }

// cancelledBody returns the response to a cancelled request.
func cancelledBody(id, why string) string {
	return string(jsonrpc.AppendError(nil, []byte(id), &jsonrpc.Error{Code: -32603, Message: why, Data: []byte(`{"kind":"cancelled","retryable":true}`)}))
}

func refusedBody(code int, message string) string {
	return string(jsonrpc.AppendRefusal(nil, &jsonrpc.Error{Code: code, Message: message}))
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modernBody returns a modern request with id 1. params are members, each followed by a comma.
func modernBody(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, modernMeta)
}

func modernHeaders(method, name string, extra headers) headers {
	h := headers{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		h["Mcp-Name"] = name
	}
	maps.Copy(h, extra)
	return h
}

func callBody(tool, text string) string {
	return modernBody("tools/call", fmt.Sprintf(`"name":%q,"arguments":{"text":%q},`, tool, text))
}

func legacyBody(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

const (
	initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	okBody         = `{"jsonrpc":"2.0","id":1,"result":{}}`
	doneBody       = `{"jsonrpc":"2.0","id":1,"result":{"done":true}}`
)

// begin starts a legacy session and returns its id.
func (s *site) begin(extra headers) string {
	s.t.Helper()
	response, body := s.do("POST", initializeBody, extra)
	id := response.Header.Get("Mcp-Session-Id")
	if response.StatusCode != 200 || id == "" || body != `{"jsonrpc":"2.0","id":0,"result":{}}` {
		s.t.Fatalf("initialize: %d %q %s", response.StatusCode, id, body)
	}
	return id
}

const patience = time.Minute

func receive[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return v
}

// tokens is a Verifier over plain text.
type tokens map[string]string

func (v tokens) Verify(token string) (string, string, bool) {
	name, ok := v[token]
	return name, token, ok
}
