package sallyport

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Header holds the header fields of an HTTP request or response. Get, Set, Add and Del ignore the case of names.
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

// MarshalJSON encodes one value as a string, and several as an array.
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

// UnmarshalJSON accepts strings and arrays of strings.
func (h *Header) UnmarshalJSON(raw []byte) error {
	*h = Header{}
	return members(raw, func(key string, value []byte) error {
		if one, ok := jsontext.Unquote(value); ok || string(value) == "null" {
			(*h)[key] = []string{one}
			return nil
		}
		(*h)[key] = []string{}
		return jsontext.Elements(value, func(element []byte) error {
			one, ok := jsontext.Unquote(element)
			if !ok {
				return errors.New("the header field " + key + " is not a string")
			}
			(*h)[key] = append((*h)[key], one)
			return nil
		})
	})
}

// HTTPRequest is a request for [Call.Fetch].
type HTTPRequest struct {
	Method string    // defaults to GET
	URL    string    // absolute URL
	Header Header    // may be nil
	Body   io.Reader // may be nil
	Sent   *Body     // instead of Body: a body that is already written
}

// HTTPResponse is an HTTP response, with any status.
type HTTPResponse struct {
	Status int
	URL    string // final URL after redirects
	Header Header
	Body   *Stream // never nil; closed at the end of the call at the latest
}

// Get fetches a URL with GET.
func (c *Call) Get(url string) (*HTTPResponse, error) {
	return c.Fetch(HTTPRequest{URL: url})
}

// Fetch performs an HTTP request. It requires a net grant. Without one the error is an [*AskError] of [KindDenied]
// with the line that would allow it. An HTTP status such as 404 is not an error.
func (c *Call) Fetch(r HTTPRequest) (*HTTPResponse, error) {
	request, err := c.fetchJSON(r)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := c.Ask("http/fetch", request, &raw); err != nil {
		return nil, err
	}
	var res fetched
	if err := res.read(raw); err != nil {
		return nil, err
	}
	body := &Stream{host: c.host, id: res.Body.ID, open: res.Body.Set, rest: []byte(res.Body.Text)}
	return &HTTPResponse{Status: res.Status, URL: res.URL, Header: res.Header, Body: body}, nil
}

// fetched is the host's result of http/fetch. It is read without encoding/json, whose analysis of the type would take
// longer than the rest of a short call.
type fetched struct {
	Status int
	URL    string
	Header Header
	Body   streamRef
}

func (f *fetched) read(raw []byte) error {
	return jsontext.Members(raw, func(key string, value []byte) (err error) {
		switch key {
		case "status":
			f.Status, err = strconv.Atoi(string(value))
		case "url":
			err = readText(key, value, &f.URL)
		case "headers":
			err = f.Header.UnmarshalJSON(value)
		case "body":
			err = f.Body.UnmarshalJSON(value)
		}
		return err
	})
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

// spool copies r to a stream of the host.
func (c *Call) spool(r io.Reader) (*Body, error) {
	b, err := c.NewBody(0)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(b, r)
	return b, err
}
