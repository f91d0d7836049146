package otlp

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/protocol"
)

// maxText is the number of bytes of a URI in a span.
const maxText = 1024

// Observe records a span for each request of a client and each run of a task. It is a protocol.Observer. A client that
// traces without sampling gets no spans, as its other servers record none.
func (e *Exporter) Observe(b protocol.Begun) protocol.Observation {
	began := time.Now()
	parent := b.Trace
	own := parent.Child()
	if parent.Parent == "" {
		own = trace.New()
		own.Baggage = parent.Baggage
	}
	return protocol.Observation{Span: own, Ended: func(end protocol.Ended) {
		if !own.Sampled() {
			return
		}
		s := Span{
			TraceID: own.TraceID(), SpanID: own.Span(), ParentID: parent.Span(), TraceState: own.State, Name: b.Method, Kind: Server,
			Start: Time(began), End: Time(time.Now()), Attributes: []Attribute{Text(methodName, b.Method), Text(outcome, end.Outcome)},
		}
		if b.Method == "" {
			s.Name, s.Attributes[0] = "unknown", Text(methodName, "unknown")
		}
		s.describe(b, end)
		e.Span(s)
	}}
}

// describe adds the attributes of a request.
func (s *Span) describe(b protocol.Begun, end protocol.Ended) {
	for _, a := range [][2]string{{protocolVersion, b.Version}, {requestID, idText(b.ID)}, {callID, end.Call}} {
		if a[1] != "" {
			s.Attributes = append(s.Attributes, Text(a[0], a[1]))
		}
	}
	if b.Task {
		s.Attributes = append(s.Attributes, Text(isTask, "run"))
	}
	if end.Subject != "" {
		s.subject(b.Method, end.Subject)
	}
	code := strconv.Itoa(end.Code)
	if end.Code != 0 {
		s.Attributes = append(s.Attributes, Text(statusCode, code))
	}
	switch end.Outcome {
	case protocol.OutcomeOK, protocol.OutcomeInput, protocol.OutcomeGone:
	default:
		kind := end.Outcome
		if end.Code != 0 {
			kind = code
		}
		s.Attributes = append(s.Attributes, Text(errorType, kind))
		s.Status.Code = Failed
	}
}

// idText returns the ID of a request, a number or a text in JSON, as text of bounded length.
func idText(id string) string {
	var text string
	if json.Unmarshal([]byte(id), &text) != nil {
		text = id
	}
	return text[:min(maxText, len(text))]
}

// subject names the tool, the prompt or the resource of a request. A URI is no part of the name of a span, as there is
// no end of them.
func (s *Span) subject(method, subject string) {
	switch method {
	case "tools/call":
		s.Name += " " + subject
		s.Attributes = append(s.Attributes, Text(toolName, subject), Text(operation, executeTool))
	case "prompts/get":
		s.Name += " " + subject
		s.Attributes = append(s.Attributes, Text(promptName, subject))
	default:
		s.Attributes = append(s.Attributes, Text(resourceURI, subject[:min(maxText, len(subject))]))
	}
}

// Call records a span for a call of a plugin, below the request or the call that caused it. Requests of the plugin to
// other servers have it as their parent. It is for hostfuncs.Options.
func (e *Exporter) Call(r receipt.Receipt, by receipt.Caller) {
	if by.Span.Parent == "" || !by.Span.Sampled() {
		return // no request caused it, or its client does not sample
	}
	end := time.Now()
	s := Span{
		TraceID: by.Span.TraceID(), SpanID: by.Span.Span(), ParentID: by.Trace.Span(), TraceState: by.Span.State, Kind: Internal,
		Name: "plugin " + r.Plugin, Start: Time(end.Add(-time.Duration(r.Millis * float64(time.Millisecond)))), End: Time(end),
		Attributes: []Attribute{Text(plugin, r.Plugin), Text(callID, r.Call), Text(outcome, r.Outcome), Int(fuel, int64(r.Fuel)), Int(memory, int64(r.Memory))},
	}
	if by.Tool != "" {
		s.Name += " " + by.Tool
	}
	done, denied := map[string]int{}, map[string]int{}
	for _, one := range r.Effects {
		done[effects+one.Family] += one.Count
	}
	for _, one := range r.Denials {
		denied[refusals+one.Family] += one.Count
	}
	s.count(done)
	s.count(denied)
	if r.Outcome != receipt.OK {
		s.Status.Code = Failed
	}
	e.Span(s)
}

// count adds numbers as attributes.
func (s *Span) count(numbers map[string]int) {
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		s.Attributes = append(s.Attributes, Int(key, int64(numbers[key])))
	}
}
