package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// maxPassedOn bounds the messages of a batch for other processes of its session: they are stored together, and a client has no
// more questions open.
const maxPassedOn = 64

// HandleBatch answers a JSON array of messages with an array of responses, processing them in order. Only
// 2025-03-26 has batches: sessions of other versions and modern requests in a batch get CodeInvalidRequest. So does a batch
// with more than 64 messages that may be for other processes of the session; nothing of it is processed. Body is nil if no
// element requires a response.
func (c *Conn) HandleBatch(ctx context.Context, data []byte, send func(msg []byte)) Response {
	if c.legacy.version() != envelope.V20250326 {
		return refuseBatch(&jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidRequest,
			Message: "batches are part of protocol version " + envelope.V20250326 + " only",
		})
	}
	messages, err := jsonrpc.SplitBatch(data)
	if err != nil {
		return refuseBatch(asError(err))
	}
	if c.passesOn(messages) > maxPassedOn {
		return refuseBatch(&jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidRequest,
			Message: fmt.Sprintf("a batch has %d answers and cancellations for other hosts at most: send fewer in each", maxPassedOn),
		})
	}
	var body []byte
	var unclaimed [][]byte
	for _, raw := range messages {
		answer, other := c.handleElement(ctx, raw, send)
		unclaimed = append(unclaimed, other...)
		if answer == nil {
			continue
		}
		if body == nil {
			body = append(body, '[')
		} else {
			body = append(body, ',')
		}
		body = append(body, answer...)
	}
	if body != nil {
		body = append(body, ']')
	}
	return Response{Body: body, Unclaimed: unclaimed}
}

// passesOn returns the number of messages of a batch that may be for other processes of the session.
func (c *Conn) passesOn(messages []json.RawMessage) (n int) {
	if c.opts.Process == "" {
		return 0
	}
	for _, raw := range messages {
		switch m, err := jsonrpc.Parse(raw); {
		case err != nil || m.IsRequest():
		case m.IsNotification() && m.Method == "notifications/cancelled", !m.IsNotification() && c.askedElsewhere(m.ID):
			n++
		}
	}
	return n
}

// handleElement answers one message of a batch. It returns nil if there is no response. unclaimed is as in Response.
func (c *Conn) handleElement(ctx context.Context, raw []byte, send func(msg []byte)) (body []byte, unclaimed [][]byte) {
	m, err := jsonrpc.Parse(raw)
	if err != nil {
		return jsonrpc.AppendError(nil, m.ID, asError(err)), nil
	}
	if !m.IsRequest() {
		return nil, c.Handle(ctx, &m, send).Unclaimed
	}
	call := envelope.Parse(&m)
	if call.Modern || m.Method == "initialize" {
		return jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidRequest,
			Message: "this request cannot be part of a batch",
		}), nil
	}
	body = c.accept(ctx, call, send).Body
	if body == nil { // every request in a batch needs a response
		body = jsonrpc.AppendError(nil, m.ID, Cancelled("the request was cancelled"))
	}
	return body, nil
}

// Cancelled is the error of a cancelled request, where a response is mandatory.
func Cancelled(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: why, Data: (&result.Failure{Kind: runtime.KindCancelled}).Data("")}
}

// Lost is the error of a request whose process has ended without a response.
func Lost() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the process of the server that ran this call has ended: the outcome of the call is not known",
		Data: (&result.Failure{Kind: runtime.KindInternal}).Data("")}
}

func refuseBatch(e *jsonrpc.Error) Response {
	return Response{Body: jsonrpc.AppendError(nil, nil, e), Err: e, Refused: true}
}

// asError returns err as *jsonrpc.Error, the only error type of our parsers.
func asError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: err.Error()}
}
