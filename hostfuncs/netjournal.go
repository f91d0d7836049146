package hostfuncs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/journal"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// keptFetch marks the outcome of a complete fetch, keptCut one with an incomplete body.
const (
	keptFetch = 'f'
	keptCut   = 'c'
)

// journaledFetch performs a fetch, or replays its recorded answer, including the body, which is read as a whole for
// the journal. A body that is too long for the journal is still streamed, but the call can then ask no more
// questions.
func journaledFetch(ctx context.Context, g *Gate, params json.RawMessage, s runtime.Streams) (json.RawMessage, error) {
	if s == nil {
		return fetch(ctx, g, params, s)
	}
	sent, err := takeBody(params, s)
	if err != nil {
		return nil, err
	}
	asked, err := confirmFetch(ctx, g, params, sent)
	if err != nil {
		return nil, err
	}
	const family = "http/fetch"
	outcome, replay, err := g.replay.journal.Next(family, params, sent.data)
	if err != nil && mayRepeat(&g.rules, err, params) {
		g.replay.journal.Retry()
		err = nil
	}
	switch {
	case err != nil:
		return nil, g.replay.diverged(err)
	case replay:
		delete(g.consents.caller.said, asked) // it was for this request
		return replayFetch(outcome, s)
	}
	mutates := changes(params)
	key := ""
	if mutates {
		key = g.replay.journal.Key()
		if err := g.replay.begin(ctx, g.policy.redact(requestName(params)), family, params, sent.data); err != nil {
			return nil, err
		}
	}
	res, err := perform(ctx, g, params, sent, key)
	if g.replay.unknown(ctx, err) {
		return nil, err
	}
	if err != nil {
		g.replay.journal.Record(encodeAnswers([]runtime.Answer{{Err: err}}), family, params, sent.data)
		return nil, err
	}
	head := res.AppendHead(nil)
	outcome, body, err := keepBody(head, res.Body, g.replay.journal.Reserve())
	if g.replay.unknown(ctx, err) {
		_ = body.Close()
		return nil, err
	}
	g.replay.journal.Record(outcome, family, params, sent.data)
	return deliver(head, body, s)
}

// changes reports whether a fetch has a method that changes state.
func changes(params json.RawMessage) bool {
	method, _ := jsonraw.String(jsonraw.Get(params, "method"))
	return method != "" && !strings.EqualFold(method, http.MethodGet) && !strings.EqualFold(method, http.MethodHead)
}

// requestName describes a request for people, without its query.
func requestName(params json.RawMessage) string {
	method, _ := jsonraw.String(jsonraw.Get(params, "method"))
	text, _ := jsonraw.String(jsonraw.Get(params, "url"))
	u, err := egress.ParseURL(text, nil)
	if err != nil {
		return "a request"
	}
	u.RawQuery = ""
	return cut(strings.ToUpper(method), maxMethod) + " " + cut(u.Redacted(), maxAct)
}

// mayRepeat reports whether a request with an unknown outcome may be sent again: its line must be idempotent.
func mayRepeat(rules *rules, err error, params json.RawMessage) bool {
	var unknown *journal.UnknownError
	if !errors.As(err, &unknown) {
		return false
	}
	r, err := egress.Parse(params, nil)
	return err == nil && decideNet(rules.grants, r).Idempotent
}

// keepBody reads a body for the journal, up to room bytes. The returned body has all bytes, including those beyond
// room. The error is the read error, which the guest gets too.
func keepBody(head json.RawMessage, body io.ReadCloser, room int) (outcome []byte, rest io.ReadCloser, err error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(room)+1))
	kind := byte(keptFetch)
	tail := io.Reader(body)
	if err != nil {
		kind, tail = keptCut, failing{err}
	}
	outcome = binary.AppendUvarint(append(outcome, kind), uint64(len(head)))
	outcome = append(append(outcome, head...), data...)
	return outcome, &joined{Reader: io.MultiReader(bytes.NewReader(data), tail), Closer: body}, err
}

// joined is a body of two parts.
type joined struct {
	io.Reader
	io.Closer
}

// replayFetch answers from the journal.
func replayFetch(outcome []byte, s runtime.Streams) (json.RawMessage, error) {
	if len(outcome) == 0 || outcome[0] != keptFetch && outcome[0] != keptCut {
		a := decodeAnswers(outcome, 1)[0]
		return a.Result, a.Err
	}
	size, k := binary.Uvarint(outcome[1:])
	if k <= 0 || size > uint64(len(outcome)-1-k) {
		return nil, unreadable()
	}
	head, data := outcome[1+k:1+k+int(size)], outcome[1+k+int(size):]
	var body io.Reader = bytes.NewReader(data)
	if outcome[0] == keptCut {
		body = io.MultiReader(body, failing{askErrorf(runtime.KindUnavailable, "the answer broke off")})
	}
	return deliver(bytes.Clone(head), io.NopCloser(body), s)
}

// taken wraps the streams of a call after the body of one request was read.
type taken struct {
	runtime.Streams
	id   uint32
	data []byte // nil: the request has no stream for a body
}

// Take returns the body that was read.
func (t *taken) Take(id uint32) (io.ReadCloser, int64, error) {
	if t.data == nil || id != t.id {
		return t.Streams.Take(id)
	}
	return io.NopCloser(bytes.NewReader(t.data)), int64(len(t.data)), nil
}

// takeBody reads the stream that a fetch names as its body, so that the journal can compare bodies.
func takeBody(params json.RawMessage, s runtime.Streams) (*taken, error) {
	id, ok := egress.StreamOf(jsonraw.Get(params, "body"))
	if !ok {
		return &taken{Streams: s}, nil
	}
	data, err := egress.StreamPayload(id, s).Bytes(egress.MaxBody)
	if data == nil {
		data = []byte{}
	}
	return &taken{Streams: s, id: id, data: data}, err
}

// failing is a reader that always fails.
type failing struct{ err error }

// Read fails.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// confirmFetch asks the caller for confirmation before the journal records the request; see consents.confirmFirst.
func confirmFetch(ctx context.Context, g *Gate, params json.RawMessage, sent *taken) (string, error) {
	if !g.policy.confirms {
		return "", nil
	}
	r, err := egress.Parse(params, sent)
	if err != nil || (g.call.ReadOnly || g.call.DryRun) && !egress.Safe(r.Method) {
		return "", nil // denied when it is performed
	}
	return g.consents.confirmFirst(ctx, requestEffect(&g.rules, r))
}
