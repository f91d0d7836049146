package image

const (
	// maxRewritten bounds the bytes copied by one Restore; above it, discarding the pages is cheaper, and frees them.
	maxRewritten = 8 << 20
	// fewRewritten is the number of bytes that may be copied on every Restore. Above it, the pages are discarded after
	// manyRewrites times, so that pages written by a single call are not copied after all later ones; the pages still
	// in use fault in one by one.
	fewRewritten = 256 << 10
	manyRewrites = 256
)

// span is a range of offsets in a memory.
type span struct{ from, to int }

// own is the set of pages of a mapping that were written since they were last discarded, and so differ from the image.
// The set grows only by page faults: as long as this process had none, the scan, in which the kernel visits every
// page, is skipped. (A huge page could be formed without a fault, but mappings have none.) Faults elsewhere in the
// process cause unneeded scans, but never a wrong set. The zero own is unknown.
type own struct {
	spans  []span // in order
	bytes  int    // total length of the spans
	known  bool   // the spans were complete when the process had this number of faults
	faults int64
	times  int // number of copies since the last forget
}

func (o *own) forget() { *o = own{spans: o.spans[:0]} }

// find scans for the written pages of p, unless they are known. False means that they exceed maxRewritten.
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

// settle is called after the pages were restored, before the guest runs.
func (o *own) settle() {
	o.times++
	if !o.known {
		o.faults, o.known = faults()
	}
}

// worn reports whether the pages should be discarded, to find out which ones are still in use.
func (o *own) worn() bool { return o.bytes > fewRewritten && o.times >= manyRewrites }

// rewrite copies the image over the written pages.
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

// clean resets a span to the image, and to zero after the image's end.
func (m *Memory) clean(s span) bool {
	end := int(m.image.size)
	if s.to > end {
		clear(m.buf[max(s.from, end):s.to])
	}
	return s.from >= end || m.image.file.readAt(m.buf[s.from:min(s.to, end)], s.from)
}
