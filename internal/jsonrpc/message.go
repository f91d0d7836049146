package jsonrpc

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Message is one request, notification or response. Raw members are the exact bytes of the document without
// surrounding white space; nil means absent.
type Message struct {
	ID     json.RawMessage // a string or an integer, verbatim
	Method string          // "" in a response
	Params json.RawMessage // an object or an array
	Result json.RawMessage // any value, including null
	Error  *Error
	Extra  jsonraw.Object // unknown members in document order
}

// IsRequest reports whether the sender expects a response.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message has a method and no id.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse reports whether the message is a response to one of our requests.
func (m *Message) IsResponse() bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil)
}

// Append appends the message as one JSON object. Raw members are copied verbatim, with any line ends between their
// tokens.
func (m *Message) Append(dst []byte) []byte {
	dst = append(dst, start...)
	dst = appendRaw(dst, "id", m.ID)
	if m.Method != "" {
		dst = append(dst, `,"method":`...)
		dst = jsonraw.AppendString(dst, m.Method)
	}
	dst = appendRaw(dst, "params", m.Params)
	dst = appendRaw(dst, "result", m.Result)
	if m.Error != nil {
		dst = append(dst, `,"error":`...)
		dst = m.Error.Append(dst)
	}
	dst = appendExtra(dst, m.Extra)
	return append(dst, '}')
}

const start = `{"jsonrpc":"2.0"`

// appendRaw appends ,"key":raw, or nothing if raw is absent.
func appendRaw(dst []byte, key string, raw json.RawMessage) []byte {
	if raw == nil {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	dst = append(dst, '"', ':')
	return append(dst, raw...)
}

func appendExtra(dst []byte, o jsonraw.Object) []byte {
	for _, m := range o {
		dst = append(dst, ',')
		dst = m.Append(dst)
	}
	return dst
}

// AppendResult appends the response to the request id. A nil result is written as {}.
func AppendResult(dst []byte, id, result json.RawMessage) []byte {
	if len(result) == 0 {
		result = json.RawMessage("{}")
	}
	dst = append(dst, start...)
	dst = appendRaw(dst, "id", id)
	dst = appendRaw(dst, "result", result)
	return append(dst, '}')
}

// AppendError appends the error response to the request id. A nil id, of a request with an unreadable id, is
// written as null (JSON-RPC 2.0 §5).
func AppendError(dst []byte, id json.RawMessage, e *Error) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	dst = append(dst, start...)
	dst = appendRaw(dst, "id", id)
	dst = append(dst, `,"error":`...)
	dst = e.Append(dst)
	return append(dst, '}')
}

// AppendRefusal appends an error that is no response to a message. It has no id, as null would mean an unreadable
// one.
func AppendRefusal(dst []byte, e *Error) []byte {
	dst = append(append(dst, start...), `,"error":`...)
	return append(e.Append(dst), '}')
}

// AppendNotification appends a notification. Nil params are left out.
func AppendNotification(dst []byte, method string, params json.RawMessage) []byte {
	m := Message{Method: method, Params: params}
	return m.Append(dst)
}

// Notification returns a notification on one line. Nil params are left out.
func Notification(method string, params jsonraw.Object) []byte {
	if params == nil {
		return AppendNotification(nil, method, nil)
	}
	return jsonraw.OneLine(AppendNotification(nil, method, params.Append(nil)))
}
