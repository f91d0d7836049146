package cases

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// Web is a made-up web: answers by method and address, as in "GET https://example.com/".
type Web map[string]Page

// Page is one answer of a Web.
type Page struct {
	Status int // 0 is 200
	Header http.Header
	Body   string
}

func (w Web) clone() Web {
	if w == nil {
		return Web{}
	}
	return maps.Clone(w)
}

func (w Web) read(n *strictyaml.Node) error {
	return n.Each("web", func(key, value *strictyaml.Node) error {
		if method, address, found := strings.Cut(key.Text, " "); !found || method != strings.ToUpper(method) || !strings.Contains(address, "://") {
			return key.Errorf("web: want a method and an address, such as GET https://example.com/, and not %q", key.Text)
		}
		page := Page{Header: http.Header{}}
		if value.IsScalar() {
			page.Body = value.Text
		} else if err := value.Each("an answer", page.read); err != nil {
			return err
		}
		w[key.Text] = page
		return nil
	})
}

func (p *Page) read(key, value *strictyaml.Node) (err error) {
	switch key.Text {
	case "status":
		if p.Status, err = strconv.Atoi(value.Text); err != nil || p.Status < 200 || p.Status > 599 {
			return value.Errorf("status: want a number from 200 to 599")
		}
	case "text":
		p.Body, err = value.Scalar("text")
	case "json":
		p.Body = string(value.JSON())
		p.Header.Set("Content-Type", "application/json")
	case "headers":
		return value.Each("headers", func(name, field *strictyaml.Node) error {
			text, err := field.Scalar(name.Text)
			p.Header.Set(name.Text, text)
			return err
		})
	default:
		return key.Errorf("unknown key %q%s", key.Text, strictyaml.Hint(key.Text, []string{"status", "headers", "text", "json"}))
	}
	return err
}

// RoundTrip answers a request, and fails for one that has no answer.
func (w Web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	page, known := w[r.Method+" "+r.URL.String()]
	if !known {
		return nil, fmt.Errorf("the cases have no answer for %s %s", r.Method, r.URL)
	}
	status := page.Status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: page.Header.Clone(), Body: io.NopCloser(strings.NewReader(page.Body)), ContentLength: int64(len(page.Body)), Request: r,
	}, nil
}
