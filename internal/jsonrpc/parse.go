package jsonrpc

import (
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// maxExtra is the maximum number of unknown envelope members. None are defined; the limit keeps a hostile envelope
// from growing a large index.
const maxExtra = 64

// maxBatch is the maximum number of messages per batch. Clients batch a handful; the limit keeps a 16 MiB line of
// "[1,1,1…" from growing to hundreds of megabytes.
const maxBatch = 1024

// Parse parses one message into views of data. The error is an *Error: CodeParse if data is not JSON, which
// includes invalid UTF-8 and excessive nesting, else CodeInvalidRequest; then the Message has the ID if a valid one
// was found.
func Parse(data []byte) (Message, error) {
	p := parser{scan: jsonraw.ScanObject(data)}
	for p.scan.Next() {
		p.member()
	}
	if err := p.scan.Err(); err != nil {
		return Message{}, syntaxError(data, err)
	}
	p.check()
	if p.wrong != "" {
		return Message{ID: p.ID}, invalid(p.wrong)
	}
	return p.Message, nil
}

// syntaxError distinguishes invalid JSON from JSON that is not an object.
func syntaxError(data []byte, err error) *Error {
	if valid := jsonraw.Valid(data); valid != nil {
		return &Error{Code: CodeParse, Message: fmt.Sprintf("parse error: %v", valid)}
	}
	return invalid("a message must be an object")
}

func invalid(why string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "invalid request: " + why}
}

// parser collects the members of an envelope. An invalid member does not end the scan, as the rest may hold the id
// or a syntax error.
type parser struct {
	Message
	scan  jsonraw.Scanner
	seen  field
	wrong string // first problem
}

// field is a set of the members defined by JSON-RPC.
type field uint8

const (
	fieldVersion field = 1 << iota
	fieldID
	fieldMethod
	fieldParams
	fieldResult
	fieldError
)

func (p *parser) complain(why string) {
	if p.wrong == "" {
		p.wrong = why
	}
}

// member processes the member at the scanner.
func (p *parser) member() {
	f := p.field()
	if f == 0 {
		p.extra()
		return
	}
	if p.seen&f != 0 {
		p.repeated(f)
		return
	}
	p.seen |= f
	v := p.scan.Value
	switch f {
	case fieldVersion:
		p.version(v)
	case fieldID:
		p.id(v)
	case fieldMethod:
		p.method(v)
	case fieldParams:
		if p.Params = v; v[0] != '{' && v[0] != '[' {
			p.complain("params must be an object or an array")
		}
	case fieldResult:
		p.Result = v
	case fieldError:
		p.error(v)
	}
}

// field returns the field of the member at the scanner, or 0 for an unknown one.
func (p *parser) field() field {
	switch string(p.scan.Key) {
	case "jsonrpc":
		return fieldVersion
	case "id":
		return fieldID
	case "method":
		return fieldMethod
	case "params":
		return fieldParams
	case "result":
		return fieldResult
	case "error":
		return fieldError
	}
	return p.escapedField()
}

// escapedField is field for a key that may contain escapes.
func (p *parser) escapedField() field {
	for i, name := range [...]string{"jsonrpc", "id", "method", "params", "result", "error"} {
		if p.scan.KeyIs(name) {
			return 1 << i
		}
	}
	return 0
}

// repeated records a duplicate member. With two ids, neither can be used in a response.
func (p *parser) repeated(f field) {
	p.complain("duplicate member " + p.scan.KeyString())
	if f == fieldID {
		p.ID = nil
	}
}

func (p *parser) extra() {
	if len(p.Extra) == maxExtra {
		p.complain("too many unknown members")
		return
	}
	key := p.scan.KeyString()
	if p.Extra.Get(key) != nil {
		p.complain("duplicate member " + key)
		return
	}
	p.Extra = append(p.Extra, jsonraw.Member{Key: key, Value: p.scan.Value})
}

func (p *parser) version(v json.RawMessage) {
	if string(v) == `"2.0"` {
		return
	}
	if s, ok := jsonraw.String(v); !ok || s != "2.0" {
		p.complain(`jsonrpc must be "2.0"`)
	}
}

// id stores a string or an integer id. A null is not stored; check decides whether it is allowed.
func (p *parser) id(v json.RawMessage) {
	switch c := v[0]; {
	case c == '"', isInteger(v):
		p.ID = v
	case c == 'n':
	default:
		p.complain("id must be a string or an integer")
	}
}

// isInteger reports whether v, a valid value, is a number without fraction and exponent.
func isInteger(v []byte) bool {
	if v[0] == '-' {
		v = v[1:]
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func (p *parser) method(v json.RawMessage) {
	var ok bool
	if p.Method, ok = jsonraw.String(v); !ok || p.Method == "" {
		p.complain("method must be a string, and not empty")
	}
}

func (p *parser) error(v json.RawMessage) {
	e, why := parseError(v)
	if why != "" {
		p.complain(why)
	}
	p.Error = e
}

// check validates the combination of members.
func (p *parser) check() {
	const answer = fieldResult | fieldError
	if p.seen&fieldVersion == 0 {
		p.complain(`jsonrpc must be "2.0"`)
	}
	switch {
	case p.seen&fieldMethod != 0:
		if p.seen&answer != 0 {
			p.complain("a message cannot be a request and a response at once")
		}
		p.checkID(fieldID)
	case p.seen&answer == answer:
		p.complain("a response cannot have both a result and an error")
	case p.seen&fieldParams != 0:
		p.complain("params without a method")
	case p.seen&fieldResult != 0:
		p.checkID(0)
	case p.seen&fieldError == 0:
		p.complain("method is missing")
	}
}

// checkID requires an id unless the optional member is absent. Only an error response may have a null id, for a
// request with an unreadable id.
func (p *parser) checkID(optional field) {
	if p.ID == nil && (optional == 0 || p.seen&optional != 0) {
		p.complain("id must be a string or an integer")
	}
}

// IsBatch reports whether data is an array, judging by its first byte.
func IsBatch(data []byte) bool {
	for _, c := range data {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '['
	}
	return false
}

// SplitBatch splits a batch into messages without parsing them. The error is an *Error: CodeParse if data is not
// JSON, CodeInvalidRequest if it is not an array, is empty or has more than 1024 messages.
func SplitBatch(data []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	s := jsonraw.ScanArray(data)
	for s.Next() {
		if len(list) <= maxBatch {
			list = append(list, s.Value)
		}
	}
	switch {
	case s.Err() != nil && jsonraw.Valid(data) == nil:
		return nil, invalid("a batch must be an array")
	case s.Err() != nil:
		return nil, syntaxError(data, s.Err())
	case len(list) == 0:
		return nil, invalid("an empty batch")
	case len(list) > maxBatch:
		return nil, invalid("too many messages in one batch")
	}
	return list, nil
}
