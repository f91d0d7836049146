// Package sallyporttest serves a plugin in go test, with a test host.
//
//	func TestGreet(t *testing.T) {
//		h := sallyporttest.New(t, plugin)
//		if got := h.Call("greet", args{Name: "Ada"}).Text(); got != "Hello, Ada!" {
//			t.Error(got)
//		}
//	}
//
// Requests and responses are JSON as on the wire, passed through the same four functions as in a module. An
// [http.Handler] answers HTTP requests, and functions set by [Host.Answer] answer all other host requests. Files and
// environment are those of the test process: see t.TempDir and t.Setenv.
package sallyporttest

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// Host serves one plugin. It is not safe for concurrent use.
type Host struct {
	t        testing.TB
	plugin   *sallyport.Plugin
	answers  map[string]Answer
	web      http.Handler
	progress []Progress
	logs     []Log
	asked    []string
}

// Answer returns the result of a host request. An [*sallyport.AskError] is returned to the plugin as it is, and any
// other error with the kind unavailable.
type Answer func(params json.RawMessage) (any, error)

// Progress is one report of [sallyport.Call.Progress].
type Progress struct {
	Token    any     `json:"progressToken"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
}

// Log is one message of [sallyport.Call.Log].
type Log struct {
	Level  sallyport.Level `json:"level"`
	Logger string          `json:"logger"`
	Data   any             `json:"data"`
}

// New makes a host for a plugin. It grants nothing: host requests are denied until the test sets an answer. Progress
// and logs are recorded.
func New(t testing.TB, p *sallyport.Plugin) *Host {
	return &Host{t: t, plugin: p, answers: map[string]Answer{}}
}

// Answer sets the answer to a method that the plugin requests.
func (h *Host) Answer(method string, a Answer) { h.answers[method] = a }

// HTTP sets the handler that answers every http/fetch, for all hosts.
func (h *Host) HTTP(handler http.Handler) { h.web = handler }

// Progress returns the reports of the last request.
func (h *Host) Progress() []Progress { return h.progress }

// Logs returns the log messages of the last request.
func (h *Host) Logs() []Log { return h.logs }

// Asked returns the methods that the plugin requested from the host during the last request, in order.
func (h *Host) Asked() []string { return h.asked }

// Request serves a raw MCP request and returns its result. The error is an [*sallyport.Error]. params is encoded as
// JSON. A json.RawMessage is sent as it is.
func (h *Host) Request(method string, params any) (json.RawMessage, error) {
	h.t.Helper()
	request := map[string]any{"method": method}
	if params != nil {
		request["params"] = params
	}
	raw, err := json.Marshal(request)
	if err != nil {
		h.t.Fatalf("%s: params: %v", method, err)
	}
	response, err := h.serve(raw)
	if err != nil {
		h.t.Fatalf("%s: %v", method, err)
	}
	return h.result(method, response)
}

func (h *Host) serve(request []byte) ([]byte, error) {
	h.progress, h.logs, h.asked = nil, nil, nil
	w := newWire(h, request)
	if err := h.plugin.Handle(w, int64(len(request))); err != nil {
		return nil, err
	}
	return w.filled()
}

func (h *Host) result(method string, response []byte) (json.RawMessage, error) {
	h.t.Helper()
	var r struct {
		Result json.RawMessage  `json:"result"`
		Error  *sallyport.Error `json:"error"`
	}
	if err := json.Unmarshal(response, &r); err != nil {
		h.t.Fatalf("%s: the response is not JSON: %v\n%s", method, err, response)
	}
	switch {
	case r.Error != nil:
		return nil, r.Error
	case len(r.Result) == 0 || r.Result[0] != '{':
		h.t.Fatalf("%s: the response has no result that is an object: %s", method, response)
	}
	return r.Result, nil
}

// perform answers one host request.
func (h *Host) perform(w *wire, method string, params json.RawMessage) (any, error) {
	h.asked = append(h.asked, method)
	if a := h.answers[method]; a != nil {
		return a(params)
	}
	switch method {
	case "notifications/progress":
		return keep(&h.progress, params)
	case "notifications/message":
		return keep(&h.logs, params)
	case "stream/open":
		return w.open(), nil
	case "http/fetch":
		if h.web != nil {
			return w.fetch(h.web, params)
		}
	}
	return nil, &sallyport.AskError{Kind: sallyport.KindDenied, Message: method + " is not granted", Hint: "Answer it in the test"}
}

func keep[T any](list *[]T, params json.RawMessage) (any, error) {
	var one T
	if err := json.Unmarshal(params, &one); err != nil {
		return nil, err
	}
	*list = append(*list, one)
	return struct{}{}, nil
}

// refusal encodes the error of a host request as the host does.
func refusal(err error) map[string]any {
	var a *sallyport.AskError
	if !errors.As(err, &a) {
		a = &sallyport.AskError{Kind: sallyport.KindUnavailable, Message: err.Error()}
	}
	data := map[string]any{"kind": a.Kind}
	if a.Hint != "" {
		data["hint"] = a.Hint
	}
	if a.Requires != nil {
		data["requiredCapabilities"] = a.Requires
	}
	if a.RetryAfter > 0 {
		data["retryAfterMs"] = a.RetryAfter.Milliseconds()
	}
	return map[string]any{"code": -32000, "message": a.Message, "data": data}
}
