package streamable

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
)

// refusal is the response to a refused request: an HTTP status, and a JSON-RPC error.
type refusal struct {
	status int
	id     json.RawMessage // nil if it answers no message
	null   bool            // the id is unreadable, which JSON-RPC writes as null
	err    *jsonrpc.Error
	key    string // one additional header, or ""
	value  string
	close  bool // close the connection
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, err: &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidRequest,
		Message: fmt.Sprintf(format, args...),
	}}
}

// mismatch reports a header that contradicts the body, or is missing.
func mismatch(format string, args ...any) *refusal {
	f := refuse(http.StatusBadRequest, format, args...)
	f.err.Code = jsonrpc.CodeHeaderMismatch
	return f
}

func (f *refusal) with(key, value string) *refusal {
	f.key, f.value = key, value
	return f
}

// closing closes the connection after the refusal.
func (f *refusal) closing() *refusal {
	f.close = true
	return f
}

func (f *refusal) write(w http.ResponseWriter) {
	if f.close {
		w.Header().Set("Connection", "close")
	}
	if f.key != "" {
		w.Header().Set(f.key, f.value)
	}
	if f.id == nil && !f.null {
		writeJSON(w, f.status, jsonrpc.AppendRefusal(nil, f.err))
		return
	}
	writeJSON(w, f.status, jsonrpc.AppendError(nil, f.id, f.err))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
