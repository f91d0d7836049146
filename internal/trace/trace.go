// Package trace parses the trace context of a client's request, and propagates it to outgoing requests.
//
// A traced client writes traceparent, tracestate and baggage into params._meta, in the syntax of the W3C HTTP header
// fields of these names. Invalid values are ignored, as W3C requires.
//
//	c := trace.Read(meta)             // of the request
//	own := c.Child()                  // the same trace, this call as the span
//	own.Header(out.Header, trace.Parent)
package trace

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Limits of W3C Trace Context (level 2, section 3.3) and Baggage (section 3.3), in bytes and members.
const (
	maxParent  = 128 // longer than version 00, which has 55, for later versions
	maxState   = 512
	maxStates  = 32
	maxBaggage = 8192
	maxItems   = 64
)

// Keys of a _meta object and names of HTTP header fields.
const (
	KeyParent  = "traceparent"
	keyState   = "tracestate"
	KeyBaggage = "baggage"
)

// Upstream selects the parts of a trace context that outgoing requests carry.
type Upstream int

// Values of Upstream. Each includes those before it, except Off.
const (
	Parent  Upstream = iota // trace and span identifiers only
	State                   // and vendor-specific state of tracing systems
	Baggage                 // and baggage, arbitrary text of the client
	Off                     // nothing
)

// ParseUpstream parses off, parent, state or baggage.
func ParseUpstream(s string) (u Upstream, ok bool) {
	u, ok = map[string]Upstream{"parent": Parent, "state": State, "baggage": Baggage, "off": Off}[s]
	return u, ok
}

// Context is a position in a trace. The zero value is no trace.
type Context struct {
	Parent  string // traceparent of version 00; empty without a trace
	State   string // tracestate; empty without Parent
	Baggage string
}

// Read parses a _meta object, which may be absent.
func Read(meta json.RawMessage) (c Context) {
	if parent, ok := jsonraw.String(jsonraw.Get(meta, KeyParent)); ok {
		c.Parent = canonical(parent)
	}
	if state, ok := jsonraw.String(jsonraw.Get(meta, keyState)); ok && c.Parent != "" && validState(state) {
		c.State = state
	}
	if baggage, ok := jsonraw.String(jsonraw.Get(meta, KeyBaggage)); ok && validBaggage(baggage) {
		c.Baggage = baggage
	}
	return c
}

// Offsets of the parts of a traceparent: VERSION-TRACE-SPAN-FLAGS.
const (
	startTrace = 3
	startSpan  = startTrace + 33
	startFlags = startSpan + 17
	size       = startFlags + 2
)

// canonical converts a traceparent to version 00, or returns "" if it is invalid. Additional parts of later versions
// are dropped.
func canonical(s string) string {
	if len(s) < size || len(s) > maxParent || s[2] != '-' || s[startSpan-1] != '-' || s[startFlags-1] != '-' {
		return ""
	}
	version, span, flags := s[:2], s[startSpan:startFlags-1], s[startFlags:size]
	trace := s[startTrace : startSpan-1]
	switch {
	case !lowerHex(version) || version == "ff" || !lowerHex(trace) || !lowerHex(span) || !lowerHex(flags):
		return ""
	case version == "00" && len(s) != size || len(s) > size && s[size] != '-':
		return ""
	case strings.Trim(trace, "0") == "" || strings.Trim(span, "0") == "":
		return ""
	}
	return "00-" + trace + "-" + span + "-" + knownFlags(flags)
}

// knownFlags keeps the two defined flags: sampled and random trace ID.
func knownFlags(flags string) string {
	n, _ := strconv.ParseUint(flags, 16, 8) // validated as hexadecimal
	return "0" + strconv.FormatUint(n&3, 16)
}

func lowerHex(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// New returns the first span of a new trace, which is sampled.
func New() Context {
	return Context{Parent: "00-" + newID(16) + "-" + newID(8) + "-03"} // sampled, random trace ID
}

// newID returns n random bytes, not all of them zero, in hexadecimal.
func newID(n int) string {
	for id := make([]byte, n); ; {
		_, _ = rand.Read(id) // never fails
		if s := hex.EncodeToString(id); strings.Trim(s, "0") != "" {
			return s
		}
	}
}

// TraceID returns the trace ID of c, empty without a trace.
func (c Context) TraceID() string {
	if c.Parent == "" {
		return ""
	}
	return c.Parent[startTrace : startSpan-1]
}

// Attr returns the IDs of c for a log line, as OpenTelemetry names them: trace_id and span_id, or none without a trace.
func (c Context) Attr() slog.Attr {
	if c.Parent == "" {
		return slog.Group("")
	}
	return slog.Group("", "trace_id", c.TraceID(), "span_id", c.Span())
}

// Sampled reports whether the caller may have recorded its span.
func (c Context) Sampled() bool { return c.Parent != "" && (c.Parent[size-1]-'0')&1 == 1 }

// Span returns the span ID of c, empty without a trace.
func (c Context) Span() string {
	if c.Parent == "" {
		return ""
	}
	return c.Parent[startSpan : startFlags-1]
}

// Child returns a new span in the same trace.
func (c Context) Child() Context {
	if c.Parent == "" {
		return c
	}
	c.Parent = c.Parent[:startSpan] + newID(8) + c.Parent[startFlags-1:]
	return c
}

// Meta returns c as members of a _meta object.
func (c Context) Meta() (o jsonraw.Object) {
	for _, m := range c.members() {
		if m[1] != "" {
			o = append(o, jsonraw.Member{Key: m[0], Value: jsonraw.AppendString(nil, m[1])})
		}
	}
	return o
}

func (c Context) members() [3][2]string {
	return [3][2]string{{KeyParent, c.Parent}, {keyState, c.State}, {KeyBaggage, c.Baggage}}
}

// Header sets the trace fields of an HTTP header to the parts of c that up selects, and removes all others.
func (c Context) Header(h http.Header, up Upstream) {
	for i, m := range c.members() {
		h.Del(m[0])
		if m[1] != "" && up != Off && Upstream(i) <= up {
			h.Set(m[0], m[1])
		}
	}
}

// HostField reports whether Header sets a field.
func HostField(name string) bool {
	switch strings.ToLower(name) {
	case KeyParent, keyState, KeyBaggage:
		return true
	}
	return false
}
