package sallyport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// trick is a host with faults.
type trick struct {
	request  io.Reader
	response bytes.Buffer
	read     int32 // error of every read except of the request, 0 for none
	write    int32 // bytes accepted by each write, or its error
	call     int64
	answer   io.Reader
	closed   []uint32
}

func (h *trick) Read(stream uint32, p []byte) int32 {
	r := h.request
	if stream != requestStream {
		if h.read < 0 {
			return h.read
		}
		r = h.answer
	}
	if r == nil {
		return -int32(ErrnoIO)
	}
	n, _ := r.Read(p)
	return int32(n)
}

func (h *trick) Write(stream uint32, p []byte) int32 {
	n := int32(len(p))
	if h.write <= 0 {
		if h.write < 0 {
			return h.write
		}
		return 0
	}
	n = min(n, h.write)
	h.response.Write(p[:n])
	return n
}

func (h *trick) Call([]byte) int64 { return h.call }

func (h *trick) Close(stream uint32) int32 {
	h.closed = append(h.closed, stream)
	return 0
}

func asking() *Plugin {
	return New("t", "1", Tool("f", "", func(c *Call, _ None) (string, error) { return "", c.Ask("x", nil, nil) }))
}

const askingRequest = `{"method":"tools/call","params":{"name":"f"}}`

func TestHandle_writesInPieces(t *testing.T) {
	h := &trick{request: strings.NewReader(`{"method":"plugin/describe"}`), write: 3}
	if err := asking().Handle(h, 0); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(h.response.Bytes()) {
		t.Errorf("got response %s, want JSON", h.response.Bytes())
	}
}

func TestHandle_reportsFailingStreams(t *testing.T) {
	for name, h := range map[string]*trick{
		"request":         {write: 1},
		"response":        {request: strings.NewReader("{}"), write: -int32(ErrnoIO)},
		"nothing written": {request: strings.NewReader("{}"), write: 0},
	} {
		if err := asking().Handle(h, 1<<40); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}

func TestAsk_survivesAMisbehavingHost(t *testing.T) {
	for want, h := range map[string]*trick{
		"the call was cancelled": {call: -int64(ErrnoCancelled)},
		"host error number 99":   {call: 5 << 32, read: -99},
		"no such stream":         {call: 5 << 32, read: -int32(ErrnoBadStream)},
		"over the host's limit":  {call: -int64(ErrnoTooBig)},
		"the host's answer is not JSON: unexpected end of JSON input": {call: 5<<32 | unknownSize, answer: strings.NewReader("")},
		"denied": {call: 5<<32 | 10, answer: strings.NewReader(`{"error":{"data":{"kind":"denied"}}}`)},
	} {
		h.request, h.write = strings.NewReader(askingRequest), 1<<20
		if err := asking().Handle(h, int64(len(askingRequest))); err != nil {
			t.Fatal(err)
		}
		var r struct {
			Result Result `json:"result"`
		}
		if err := json.Unmarshal(h.response.Bytes(), &r); err != nil || !r.Result.IsError || r.Result.Content[0].Text != want {
			t.Errorf("want %q, got %s", want, h.response.Bytes())
		}
		if h.call > 0 && (len(h.closed) != 1 || h.closed[0] != 5) {
			t.Errorf("%s: closed %v", want, h.closed)
		}
	}
}

func TestRound_survivesAMisbehavingHost(t *testing.T) {
	for answer, want := range map[string]string{
		`[{"result":1}]`: "the host answered another number of requests",
		`{"error":{"code":-32000,"message":"too many","data":{"kind":"limit"}}}`: "too many",
		`7`: "the host's answer is not JSON: json: cannot unmarshal number into Go value of type sallyport.answer",
	} {
		c := &Call{host: &trick{call: 5 << 32, answer: strings.NewReader(answer)}}
		err := c.Round(&Asking{Method: "a"}, &Asking{Method: "b"})
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want an error", answer, err)
		}
	}
}

func TestFetched_readsEachFormOfItsMembers(t *testing.T) {
	for raw, want := range map[string]fetched{
		`{"status":204,"url":"https://a/","headers":{"A":"1","B":["2","\u0033"],"C":null,"D":[]},"body":{"dev.sallyport/stream":7}}`: {204, "https://a/",
			Header{"A": {"1"}, "B": {"2", "3"}, "C": {""}, "D": {}}, streamRef{ID: 7, Set: true}},
		`{"status":200,"body":"text","new":{"x":[1]}}`:     {Status: 200, Body: streamRef{Text: "text"}},
		`{"headers":null,"body":null,"url":null}`:          {Header: Header{}},
		`{"body":{"other":1,"dev.sallyport/stream":null}}`: {},
	} {
		var got fetched
		if err := got.read([]byte(raw)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", raw, got, err, want)
		}
	}
	for _, raw := range []string{``, `[]`, `{"status":"x"}`, `{"headers":{"a":1}}`, `{"headers":{"a":[1]}}`, `{"body":7}`, `{"body":{"dev.sallyport/stream":-1}}`, `{"url":7}`} {
		if err := new(fetched).read([]byte(raw)); err == nil {
			t.Errorf("%s: got no error, want one", raw)
		}
	}
}

func TestStream_returnsErrorsOfTheHost(t *testing.T) {
	s := &Stream{host: &trick{read: -int32(ErrnoIO)}, id: 5, open: true}
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, ErrnoIO) {
		t.Errorf("got %v, want %v", err, ErrnoIO)
	}
	if n, err := s.Read(nil); n != 0 || err != nil {
		t.Errorf("an empty read: got %d %v; want 0, no error", n, err)
	}
	b := &Body{host: &trick{write: -int32(ErrnoTooBig)}}
	if n, err := b.Write([]byte("x")); n != 0 || !errors.Is(err, ErrnoTooBig) {
		t.Errorf("got %d %v; want 0, %v", n, err, ErrnoTooBig)
	}
}

// Every request, valid or not, is answered with one JSON object that has a result or an error.
func FuzzHandle(f *testing.F) {
	f.Add([]byte(askingRequest))
	f.Add([]byte(`{"method":"plugin/describe"}`))
	f.Add([]byte(`{"method":"resources/read","params":{"uri":"x://\ud800"}}`))
	f.Add([]byte(`{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"_meta":[]}}`))
	f.Add([]byte(`{"method":"prompts/get","params":{"name":"p","arguments":{"a":null}}}`))
	f.Add([]byte(`[]`))
	f.Add([]byte("\xff"))
	p := New("t", "1",
		Tool("f", "", func(c *Call, a struct {
			N int `default:"3"`
		}) (int, error) {
			c.Progress(1, 2, "x")
			return a.N, nil
		}),
		Prompt("p", "", func(_ *Call, a struct{ A string }) (string, error) { return a.A, nil }),
		Template("x://{a}/{+b}{?c}", "", "", func(_ *Call, v Vars) (Vars, error) { return v, nil }))
	f.Fuzz(func(t *testing.T, request []byte) {
		h := &trick{request: bytes.NewReader(request), write: 1 << 20, call: -int64(ErrnoIO)}
		if err := p.Handle(h, int64(len(request))); err != nil {
			t.Fatal(err)
		}
		var r map[string]json.RawMessage
		if err := json.Unmarshal(h.response.Bytes(), &r); err != nil || len(r) != 1 || r["result"] == nil && r["error"] == nil {
			t.Errorf("%q: got %s, want a result or an error alone", request, h.response.Bytes())
		}
	})
}
