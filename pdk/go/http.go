package sallyport

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Header holds the fields of an HTTP request or response. Get, Set and Add take names in any case.
type Header map[string][]string

// Get returns the first value of a field, or "".
func (h Header) Get(name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// Set replaces the values of a field.
func (h Header) Set(name, value string) {
	h.Del(name)
	h[name] = []string{value}
}

// Add adds a value to a field.
func (h Header) Add(name, value string) {
	for k := range h {
		if strings.EqualFold(k, name) {
			name = k
		}
	}
	h[name] = append(h[name], value)
}

// Del removes a field.
func (h Header) Del(name string) {
	for k := range h {
		if strings.EqualFold(k, name) {
			delete(h, k)
		}
	}
}

// MarshalJSON writes one value as a string and several as an array.
func (h Header) MarshalJSON() ([]byte, error) {
	fields := make(map[string]any, len(h))
	for k, v := range h {
		if len(v) == 1 {
			fields[k] = v[0]
		} else {
			fields[k] = v
		}
	}
	return jsontext.Marshal(fields)
}

// UnmarshalJSON reads strings and arrays of strings.
func (h *Header) UnmarshalJSON(raw []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	*h = make(Header, len(fields))
	for k, v := range fields {
		var one string
		if json.Unmarshal(v, &one) == nil {
			(*h)[k] = []string{one}
			continue
		}
		var many []string
		if err := json.Unmarshal(v, &many); err != nil {
			return err
		}
		(*h)[k] = many
	}
	return nil
}

// HTTPRequest is what [Call.Fetch] sends.
type HTTPRequest struct {
	Method string    // GET if empty
	URL    string    // absolute
	Header Header    // may be nil
	Body   io.Reader // nil for none
	Sent   *Body     // in place of Body: one that is written already
}

// HTTPResponse is what came back. Any status is a response; an error means there was none.
type HTTPResponse struct {
	Status int
	URL    string // after redirects
	Header Header
	Body   *Stream // never nil; close it, or leave that to the end of the call
}

// Get fetches a URL.
func (c *Call) Get(url string) (*HTTPResponse, error) {
	return c.Fetch(HTTPRequest{URL: url})
}

// Fetch performs an HTTP request. It needs a net grant; without one the error is an [*AskError] of
// [KindDenied] that says which line would allow it.
func (c *Call) Fetch(r HTTPRequest) (*HTTPResponse, error) {
	request, err := c.fetchJSON(r)
	if err != nil {
		return nil, err
	}
	var res struct {
		Status int       `json:"status"`
		URL    string    `json:"url"`
		Header Header    `json:"headers"`
		Body   streamRef `json:"body"`
	}
	if err := c.Ask("http/fetch", request, &res); err != nil {
		return nil, err
	}
	body := &Stream{host: c.host, id: res.Body.ID, open: res.Body.Set, rest: []byte(res.Body.Text)}
	return &HTTPResponse{Status: res.Status, URL: res.URL, Header: res.Header, Body: body}, nil
}

func (c *Call) fetchJSON(r HTTPRequest) (json.RawMessage, error) {
	if r.Method == "" {
		r.Method = "GET"
	}
	var o jsontext.Object
	o.Text("method", r.Method)
	o.Text("url", r.URL)
	if len(r.Header) > 0 {
		if err := o.Value("headers", r.Header); err != nil {
			return nil, err
		}
	}
	if r.Sent == nil && r.Body != nil {
		body, err := c.spool(r.Body)
		if err != nil {
			return nil, err
		}
		r.Sent = body
	}
	if r.Sent != nil {
		o.Raw("body", r.Sent.reference())
	}
	return o.Bytes(), nil
}

// spool hands what r reads to the host.
func (c *Call) spool(r io.Reader) (*Body, error) {
	b, err := c.NewBody(0)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(b, r)
	return b, err
}
