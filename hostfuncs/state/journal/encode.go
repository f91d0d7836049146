package journal

import (
	"encoding/binary"
	"errors"

	"math/rand/v2"
)

// format is the first byte of an encoded journal.
const format = 1

// entryOverhead bounds the encoded size of an entry without its texts, in bytes.
const entryOverhead = 16

var errFormat = errors.New("not a journal")

// Append appends the encoded journal to dst:
//
//	1 · seed [32] · base · binding · count · count × (family · request [12] · at · how · outcome · did)
//
// Numbers are varints, and texts are prefixed by their length.
func (j *Journal) Append(dst []byte) []byte { return j.encode(dst, j.entries) }

// encode is Append with these entries.
func (j *Journal) encode(dst []byte, entries []entry) []byte {
	dst = append(append(dst, format), j.seed[:]...)
	dst = binary.AppendVarint(dst, j.base)
	dst = appendText(dst, j.binding)
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	for _, e := range entries {
		dst = appendText(dst, []byte(e.family))
		dst = append(dst, e.request[:]...)
		dst = binary.AppendVarint(dst, e.at)
		dst = appendText(appendText(append(dst, byte(e.how)), e.outcome), e.did)
	}
	return dst
}

func appendText(dst, p []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(p))), p...)
}

// Decode decodes a journal. It replays from its first entry, and shares memory with data.
func Decode(data []byte) (*Journal, error) {
	r := reader{data: data}
	j := New()
	if r.byte() != format {
		return nil, errFormat
	}
	copy(j.seed[:], r.take(len(j.seed)))
	j.base = r.varint()
	j.binding = r.text()
	count := r.uvarint()
	if count > maxEntries || count > uint64(len(r.data)) {
		return nil, errFormat
	}
	for range count {
		e := entry{family: string(r.text())}
		copy(e.request[:], r.take(len(e.request)))
		e.at, e.how, e.outcome, e.did = r.varint(), how(r.byte()), r.text(), r.text()
		r.bad = r.bad || e.how > lost
		j.entries = append(j.entries, e)
		j.size += e.size()
	}
	if r.bad || len(r.data) > 0 {
		return nil, errFormat
	}
	j.random = rand.NewChaCha8(j.seed)
	return j, nil
}

// reader decodes a journal. After the first missing field, every read is empty.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.data) {
		r.bad, r.data = true, nil
		return nil
	}
	p := r.data[:n:n]
	r.data = r.data[n:]
	return p
}

func (r *reader) byte() byte {
	p := r.take(1)
	if p == nil {
		return 0
	}
	return p[0]
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.take(-1)
		return 0
	}
	r.take(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.take(-1)
		return 0
	}
	r.take(n)
	return v
}

func (r *reader) text() []byte {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		return r.take(-1)
	}
	return r.take(int(n))
}
