// Package sallyporttest serves a plugin inside go test, with a host made for tests.
//
//	func TestGreet(t *testing.T) {
//		h := sallyporttest.New(t, plugin)
//		if got := h.Call("greet", args{Name: "Ada"}).Text(); got != "Hello, Ada!" {
//			t.Error(got)
//		}
//	}
//
// Requests and answers cross as the JSON of the wire, through the same four functions as in a module.
// HTTP is answered by an [http.Handler], anything else by what the test gives to [Host.Answer]. Files and
// environment are those of the test: use t.TempDir and t.Setenv.
package sallyporttest

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// Host serves one plugin. It is for one goroutine.
type Host struct {
	t        testing.TB
	plugin   *sallyport.Plugin
	answers  map[string]Answer
	web      http.Handler
	progress []Progress
	logs     []Log
	asked    []string
}

// Answer gives the result of something the plugin asks for. An [*sallyport.AskError] is a refusal of its
// kind, any other error one of kind unavailable.
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

// New makes a host for a plugin. It grants nothing: what the plugin asks for is denied until the test
// says otherwise; progress and logs are kept.
func New(t testing.TB, p *sallyport.Plugin) *Host {
	return &Host{t: t, plugin: p, answers: map[string]Answer{}}
}

// Answer answers a method that the plugin asks for.
func (h *Host) Answer(method string, a Answer) { h.answers[method] = a }

// HTTP makes handler the whole web: it answers every http/fetch, whatever the URL's host.
func (h *Host) HTTP(handler http.Handler) { h.web = handler }

// Progress are the reports of the last request.
func (h *Host) Progress() []Progress { return h.progress }

// Logs are the log messages of the last request.
func (h *Host) Logs() []Log { return h.logs }

// Asked are the methods that the last request asked the host for, in order.
func (h *Host) Asked() []string { return h.asked }

// Request serves any request as the wire has it and returns its result, or an [*sallyport.Error]. Params
// is encoded as JSON; a json.RawMessage goes as it is.
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

// perform answers one request of the plugin.
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

// refusal is the error of an answer as the host writes it.
func refusal(err error) map[string]any {
	a, ok := errors.AsType[*sallyport.AskError](err)
	if !ok {
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
