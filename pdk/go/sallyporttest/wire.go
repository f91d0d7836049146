package sallyporttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

const (
	// firstStream is the first stream that a call opens. 0 and 1 are its request and response.
	firstStream = 2
	// maxRead bounds one read, in bytes. It is small, so that plugins are tested with short reads.
	maxRead = 512
	// streamMember is the key of a stream reference in JSON.
	streamMember = "dev.sallyport/stream"
)

// wire holds the streams of one request.
type wire struct {
	host     *Host
	streams  map[uint32]*stream
	response bytes.Buffer
	next     uint32
}

// stream is either read or written by the plugin.
type stream struct {
	source io.Reader
	spool  bytes.Buffer
}

var _ sallyport.Host = (*wire)(nil)

func newWire(h *Host, request []byte) *wire {
	w := &wire{host: h, streams: map[uint32]*stream{}, next: firstStream}
	w.streams[0] = &stream{source: bytes.NewReader(request)}
	return w
}

// Read reads from a stream, at most maxRead bytes.
func (w *wire) Read(id uint32, p []byte) int32 {
	s := w.streams[id]
	if s == nil || s.source == nil {
		return -int32(sallyport.ErrnoBadStream)
	}
	n, err := s.source.Read(p[:min(len(p), maxRead)])
	if n == 0 && err != nil && err != io.EOF {
		return -int32(sallyport.ErrnoIO)
	}
	return int32(n)
}

// Write writes to the response, or to a stream opened for writing.
func (w *wire) Write(id uint32, p []byte) int32 {
	if id == 1 {
		w.response.Write(p)
		return int32(len(p))
	}
	s := w.streams[id]
	if s == nil || s.source != nil {
		return -int32(sallyport.ErrnoBadStream)
	}
	s.spool.Write(p)
	return int32(len(p))
}

// Close ends a stream.
func (w *wire) Close(id uint32) int32 {
	if w.streams[id] == nil {
		return -int32(sallyport.ErrnoBadStream)
	}
	delete(w.streams, id)
	return 0
}

// Call answers a host request, or a round of them.
func (w *wire) Call(request []byte) int64 {
	request = bytes.Clone(request) // the buffer is guest memory
	var round []json.RawMessage
	var answer []byte
	if json.Unmarshal(request, &round) == nil {
		answers := make([]json.RawMessage, len(round))
		for i, one := range round {
			answers[i] = w.answer(one)
		}
		answer, _ = json.Marshal(answers) // valid JSON always encodes
	} else {
		answer = w.answer(request)
	}
	return int64(w.add(&stream{source: bytes.NewReader(answer)}))<<32 | int64(len(answer))
}

func (w *wire) answer(request []byte) []byte {
	var r struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	result, err := any(nil), json.Unmarshal(request, &r)
	if err == nil {
		result, err = w.host.perform(w, r.Method, r.Params)
	}
	if err == nil {
		raw, bad := json.Marshal(map[string]any{"result": result})
		if bad == nil {
			return raw
		}
		err = bad
	}
	raw, _ := json.Marshal(map[string]any{"error": refusal(err)}) // strings and numbers always encode
	return raw
}

func (w *wire) add(s *stream) uint32 {
	id := w.next
	w.next++
	w.streams[id] = s
	return id
}

func (w *wire) open() any { return map[string]uint32{streamMember: w.add(&stream{})} }

// take returns the content of a stream that the plugin wrote, and ends it.
func (w *wire) take(id uint32) ([]byte, error) {
	s := w.streams[id]
	if s == nil || s.source != nil {
		return nil, fmt.Errorf("stream %d is not one that this call opened for writing, or it was used already", id)
	}
	delete(w.streams, id)
	return s.spool.Bytes(), nil
}

// filled returns the response with stream references replaced by their content.
func (w *wire) filled() ([]byte, error) {
	raw := w.response.Bytes()
	if !bytes.Contains(raw, []byte(streamMember)) {
		return raw, nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	v, err := w.fill(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (w *wire) fill(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = w.fill(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if id, ok := v[streamMember].(float64); ok {
			data, err := w.take(uint32(id))
			return base64.StdEncoding.EncodeToString(data), err
		}
		for k := range v {
			if v[k], err = w.fill(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
