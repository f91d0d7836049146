// Package trace reads the trace context that a client gives a request, and carries it on.
//
// A client that is traced writes traceparent, tracestate and baggage into params._meta, in the form of W3C's HTTP
// fields of these names. What does not have that form is as good as absent, as W3C wants it.
//
//	c := trace.Of(params)             // of the request
//	own := c.Child()                  // the same trace, this call as the span
//	own.Header(out.Header, trace.Parent)
//
// This package is internal to Sallyport: it is not promised to others.
package trace

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Limits of W3C's Trace Context (level 2, section 3.3) and Baggage (section 3.3), in bytes and members.
const (
	maxParent  = 128 // of a later version than the one that is known, which has 55
	maxState   = 512
	maxStates  = 32
	maxBaggage = 8192
	maxItems   = 64
)

// Names of the members of a _meta, and of the fields of an HTTP request.
const (
	nameParent  = "traceparent"
	nameState   = "tracestate"
	nameBaggage = "baggage"
)

// Upstream is how much of a trace goes out with requests to other servers.
type Upstream int

// The amounts, each with those before it but Off.
const (
	Parent  Upstream = iota // which trace it is: two numbers
	State                   // what tracing systems noted of it
	Baggage                 // and what the client's program says: any text
	Off                     // nothing
)

// ParseUpstream reads the name of an amount: off, parent, state or baggage.
func ParseUpstream(s string) (u Upstream, ok bool) {
	u, ok = map[string]Upstream{"parent": Parent, "state": State, "baggage": Baggage, "off": Off}[s]
	return u, ok
}

// Context is where in which trace something happens. The zero value is no trace.
type Context struct {
	Parent  string // traceparent of version 00; empty is none
	State   string // tracestate; empty without Parent
	Baggage string
}

// Of reads the params of a request. Most have no trace, and that is found out without reading them.
func Of(params json.RawMessage) Context {
	if !bytes.Contains(params, []byte(nameParent)) && !bytes.Contains(params, []byte(nameBaggage)) {
		return Context{}
	}
	return Read(jsonraw.Get(params, "_meta"))
}

// Read reads a _meta, which may be absent.
func Read(meta json.RawMessage) (c Context) {
	if parent, ok := jsonraw.String(jsonraw.Get(meta, nameParent)); ok {
		c.Parent = canonical(parent)
	}
	if state, ok := jsonraw.String(jsonraw.Get(meta, nameState)); ok && c.Parent != "" && validState(state) {
		c.State = state
	}
	if baggage, ok := jsonraw.String(jsonraw.Get(meta, nameBaggage)); ok && validBaggage(baggage) {
		c.Baggage = baggage
	}
	return c
}

// The places of the parts of a traceparent: VERSION-TRACE-SPAN-FLAGS.
const (
	startTrace = 3
	startSpan  = startTrace + 33
	startFlags = startSpan + 17
	size       = startFlags + 2
)

// canonical is a traceparent in the form of version 00; empty if it is none. Of a later version, which has more
// parts, those of this one are taken.
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

// knownFlags keeps the two that mean something: sampled, and that the trace's number is random.
func knownFlags(flags string) string {
	n, _ := strconv.ParseUint(flags, 16, 8) // it is hexadecimal
	return "0" + strconv.FormatUint(n&3, 16)
}

func lowerHex(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// Span is the number of the span that c is in; empty without a trace.
func (c Context) Span() string {
	if c.Parent == "" {
		return ""
	}
	return c.Parent[startSpan : startFlags-1]
}

// Child is a new span in the same trace.
func (c Context) Child() Context {
	if c.Parent == "" {
		return c
	}
	var span [8]byte
	for span == [8]byte{} { // which would be none
		_, _ = rand.Read(span[:]) // it never fails
	}
	c.Parent = c.Parent[:startSpan] + hex.EncodeToString(span[:]) + c.Parent[startFlags-1:]
	return c
}

// Meta are the members of a _meta that say c.
func (c Context) Meta() (o jsonraw.Object) {
	for _, m := range c.members() {
		if m[1] != "" {
			o = append(o, jsonraw.Member{Key: m[0], Value: jsonraw.AppendString(nil, m[1])})
		}
	}
	return o
}

func (c Context) members() [3][2]string {
	return [3][2]string{{nameParent, c.Parent}, {nameState, c.State}, {nameBaggage, c.Baggage}}
}

// Header writes c into the header of a request, as much of it as up says. Nothing else is left of these fields.
func (c Context) Header(h http.Header, up Upstream) {
	for i, m := range c.members() {
		h.Del(m[0])
		if m[1] != "" && up != Off && Upstream(i) <= up {
			h.Set(m[0], m[1])
		}
	}
}

// HostField reports whether a field of a request is written by Header.
func HostField(name string) bool {
	switch strings.ToLower(name) {
	case nameParent, nameState, nameBaggage:
		return true
	}
	return false
}
