package egress

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Response is the response of one hop.
type Response struct {
	Status int
	URL    string
	Header http.Header
	Body   io.ReadCloser
}

// AppendHead appends {status, url, headers: {name: text|[text]} without its last brace, so that the body can follow.
// Names are in lower case, and a field with several values is a list.
func (res *Response) AppendHead(dst []byte) json.RawMessage {
	dst = fmt.Appendf(dst, `{"status":%d,"url":`, res.Status)
	dst = jsonraw.AppendString(dst, res.URL)
	dst = append(dst, `,"headers":{`...)
	for i, name := range slices.Sorted(maps.Keys(res.Header)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonraw.AppendString(dst, strings.ToLower(name))
		dst = append(dst, ':')
		dst = appendValues(dst, res.Header[name])
	}
	return append(dst, '}')
}

func appendValues(dst []byte, values []string) []byte {
	if len(values) == 1 {
		return jsonraw.AppendString(dst, values[0])
	}
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonraw.AppendString(dst, v)
	}
	return append(dst, ']')
}
