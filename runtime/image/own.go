package image

const (
	// maxRewritten is how many bytes are copied at most; giving more than that back is cheaper, and frees them.
	maxRewritten = 8 << 20
	// fewRewritten is how many bytes are copied each time without end. Where it is more, the pages are given back
	// after manyRewrites times, and those that are still needed come back one by one: what one call had touched is
	// not copied in all that follow.
	fewRewritten = 256 << 10
	manyRewrites = 256
)

// span is a part of a memory, from one offset to another.
type span struct{ from, to int }

// own is which pages of a mapping were written to since they were given back, and so are no longer the image's. They
// stay that until they are given back again, and only a page fault makes another one: as long as this process has had
// none, nobody has to ask the kernel, which looks at every page to answer. (Huge pages, which the kernel makes of small
// ones by itself, would be another way: a mapping has none.) Faults of others make the question needless now and then,
// and never the answer wrong. The zero own knows nothing.
type own struct {
	spans  []span // in order
	bytes  int    // in them
	known  bool   // the spans were all when the process had so many faults
	faults int64
	times  int // that they were copied
}

func (o *own) forget() { *o = own{spans: o.spans[:0]} }

// find asks the kernel for the pages of p, unless the answer is known. False means that they are too many.
func (o *own) find(p []byte) (ok bool, err error) {
	if n, counted := faults(); o.known && counted && n == o.faults {
		return true, nil
	}
	o.spans, o.bytes, o.known = o.spans[:0], 0, false
	return written(p, func(from, to int) bool {
		o.spans = append(o.spans, span{from, to})
		o.bytes += to - from
		return o.bytes <= maxRewritten
	})
}

// settle is called when the pages are clean, and before the guest runs.
func (o *own) settle() {
	o.times++
	if !o.known {
		o.faults, o.known = faults()
	}
}

// worn tells whether it is time to find out which pages are still needed.
func (o *own) worn() bool { return o.bytes > fewRewritten && o.times >= manyRewrites }

// rewrite copies the image over what was written.
func (m *Memory) rewrite() error {
	ok, err := m.own.find(m.buf[:m.high])
	if err != nil || !ok || m.own.worn() {
		return m.giveBack()
	}
	for _, s := range m.own.spans {
		if !m.clean(s) {
			return m.giveBack()
		}
	}
	m.own.settle()
	return nil
}

// clean makes a part what it was at first: the image's, and behind that zero.
func (m *Memory) clean(s span) bool {
	end := int(m.image.size)
	if s.to > end {
		clear(m.buf[max(s.from, end):s.to])
	}
	return s.from >= end || m.image.file.readAt(m.buf[s.from:min(s.to, end)], s.from)
}
