package image

// Memory is the linear memory of one instance. It is not safe for concurrent use.
type Memory struct {
	image   *Image
	limit   uint64
	way     Way
	buf     []byte // the whole reservation, or what was allocated
	size    uint64
	peak    uint64 // the largest size since the last Restore
	refused bool

	high uint64 // of a mapping: the largest size since all of it was given back
	own  own    // which pages of a mapping are no longer the image's
}

// Bytes is the memory as it is now.
func (m *Memory) Bytes() []byte { return m.buf[:m.size:m.size] }

// Limit is what the memory may grow to, in bytes.
func (m *Memory) Limit() uint64 { return m.limit }

// Peak is the largest size since the last Restore, in bytes.
func (m *Memory) Peak() uint64 { return m.peak }

// Refused tells whether somebody wanted more than the limit since the last Restore.
func (m *Memory) Refused() bool { return m.refused }

// Reallocate makes the memory larger and returns it, or nil if that is more than the limit. What is new is zero.
// The memory never has less than its image.
func (m *Memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	size = max(size, m.size)
	if size > uint64(len(m.buf)) {
		// A quarter more than asked for, so that growing page by page copies little.
		grown := make([]byte, min(size+size/4, m.limit))
		copy(grown, m.buf)
		m.buf = grown
	}
	m.size, m.peak = size, max(m.peak, size)
	return m.Bytes()
}

// Restore makes the memory what it was at first. If its size was another, whoever knows the old one must be told.
// After an error the memory can only be freed.
func (m *Memory) Restore() error {
	if err := m.restore(); err != nil {
		return err
	}
	m.size, m.peak, m.refused = m.image.size, m.image.size, false
	return nil
}

func (m *Memory) restore() error {
	if m.way == Copy {
		m.image.read(m.buf[:m.image.size])
		clear(m.buf[m.image.size:m.peak])
		return nil
	}
	m.high = max(m.high, m.peak)
	if m.way == Scan {
		return m.rewrite()
	}
	return m.giveBack()
}

// giveBack makes all of a mapping what it was at first.
func (m *Memory) giveBack() error {
	m.own.forget()
	for _, p := range [][]byte{m.buf[:m.image.size], m.buf[m.image.size:m.high]} {
		if len(p) == 0 {
			continue
		}
		if err := giveBack(p); err != nil {
			return err
		}
	}
	m.high = m.image.size
	return nil
}

// Free gives the memory back. It must not be used after it, and may be freed again.
func (m *Memory) Free() {
	if m.image == nil {
		return
	}
	if m.way != Copy {
		release(m.buf)
	}
	m.image.Close()
	*m = Memory{}
}
