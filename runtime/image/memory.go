package image

// Memory is the linear memory of one instance. It is not safe for concurrent use.
type Memory struct {
	image   *Image
	room    uint64 // largest limit
	limit   uint64
	way     Way
	buf     []byte // the reservation of a mapping, or the allocated slice
	size    uint64
	peak    uint64 // largest size since the last Restore
	refused bool

	high uint64 // of a mapping: the largest size since the last giveBack
	own  own    // the pages of a mapping that differ from the image
}

// Bytes returns the current contents, without a copy.
func (m *Memory) Bytes() []byte { return m.buf[:m.size:m.size] }

// Limit returns the maximum size, in bytes.
func (m *Memory) Limit() uint64 { return m.limit }

// Room returns the largest limit of Bound, in bytes.
func (m *Memory) Room() uint64 { return m.room }

// Bound sets the maximum size, in bytes. A memory that is larger already grows no more.
func (m *Memory) Bound(limit uint64) { m.limit = min(limit, m.room) }

// Peak returns the largest size since the last Restore, in bytes.
func (m *Memory) Peak() uint64 { return m.peak }

// Refused reports whether growth beyond the limit was requested since the last Restore.
func (m *Memory) Refused() bool { return m.refused }

// Reallocate grows the memory to size bytes and returns it, or nil if that exceeds the limit. New pages are zero. The
// memory never shrinks.
func (m *Memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	size = max(size, m.size)
	if size > uint64(len(m.buf)) {
		// A quarter more than requested, so that growing page by page copies little.
		grown := make([]byte, min(size+size/4, m.limit))
		copy(grown, m.buf)
		m.buf = grown
	}
	m.size, m.peak = size, max(m.peak, size)
	return m.Bytes()
}

// Restore resets the memory to its image. If the size changed, holders of the old size must be updated. After an error
// the memory can only be freed.
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

// giveBack resets a whole mapping to its original contents.
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

// Free releases the memory, which must not be used afterwards. It is idempotent.
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
