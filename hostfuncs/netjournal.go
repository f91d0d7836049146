package hostfuncs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// keptFetch marks the outcome of a complete fetch, keptCut one with an incomplete body.
const (
	keptFetch = 'f'
	keptCut   = 'c'
)

// idempotencyKey is the field by which a server recognizes a repeated request.
const idempotencyKey = "Idempotency-Key"

// key returns the idempotency key that the host adds to the first request: that of the journal, unless the guest has
// set one. It is empty if there is none.
func (f *fetching) key() string {
	if f.recorded == nil || f.request.Origin != nil || f.request.Header.Get(idempotencyKey) != "" {
		return ""
	}
	return f.recorded.key
}

// entry returns the record of a fetch in the journal, which compares the body of the request and keeps that of the
// answer. An answer that is too long for the journal is still streamed, but the call can then ask no more questions.
// It is nil if the call is neither journaled nor recorded.
func (f *fetching) entry(params json.RawMessage) (*entry, error) {
	if f.gate.replay.journal == nil && f.gate.tape == nil {
		return nil, nil
	}
	var sent []byte
	if f.request.Body.Streamed() {
		var err error
		if sent, err = f.request.Body.Bytes(egress.MaxBody); err != nil {
			return nil, err
		}
	}
	f.recorded = &entry{method: "http/fetch", request: [][]byte{params, sent}, encode: f.encode, decode: f.decode}
	return f.recorded, nil
}

// encode returns the outcome of the fetch. Its body is read as a whole.
func (f *fetching) encode(err error) (outcome []byte, incomplete error) {
	if err != nil {
		return encodeAnswers([]runtime.Answer{{Err: err}}), nil
	}
	f.head = f.response.AppendHead(nil)
	outcome, f.body, incomplete = keepBody(f.head, f.response.Body, f.gate.reserve())
	return outcome, incomplete
}

// reserve returns the room for an answer in the journal or the recording of the call.
func (g *Gate) reserve() int {
	if j := g.replay.journal; j != nil {
		return j.Reserve()
	}
	return g.tape.reserve()
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

// decode restores the answer from the journal.
func (f *fetching) decode(outcome []byte) error {
	if len(outcome) == 0 || outcome[0] != keptFetch && outcome[0] != keptCut {
		return decodeAnswers(outcome, 1)[0].Err
	}
	size, k := binary.Uvarint(outcome[1:])
	if k <= 0 || size > uint64(len(outcome)-1-k) {
		return unreadable()
	}
	head, data := outcome[1+k:1+k+int(size)], outcome[1+k+int(size):]
	var body io.Reader = bytes.NewReader(data)
	if outcome[0] == keptCut {
		body = io.MultiReader(body, failing{askErrorf(runtime.KindUnavailable, "the answer broke off")})
	}
	f.head, f.body = bytes.Clone(head), io.NopCloser(body)
	return nil
}

// failing is a reader that always fails.
type failing struct{ err error }

// Read fails.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
