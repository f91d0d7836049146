package image

import "sync"

// Family is the set of images of one module. They have most of their contents in common, which the first one holds for
// all: a later image holds the pages that differ. The zero Family is empty. It is safe for concurrent use.
type Family struct {
	mu    sync.Mutex
	first *Image // without a reference: it is released with the last image over it
}

// New returns an image with a copy of the contents, under the rules of the function New.
func (f *Family) New(contents []byte, way Way) *Image {
	first, made := f.shared(contents, way)
	if first == nil {
		return New(contents, way)
	}
	over := first.over
	if made {
		over = first.again
	}
	if i := over(contents); i != nil {
		return i
	}
	first.Close()
	return New(contents, way)
}

// shared returns the first image with a new reference, or makes it of the contents; nil if images of this way share nothing.
func (f *Family) shared(contents []byte, way Way) (first *Image, made bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != nil && f.first.way == way && f.first.retain() {
		return f.first, false
	}
	i := New(contents, way)
	if i.way == Copy || i.size == 0 {
		i.Close()
		return nil, false
	}
	f.first = i
	return i, true
}

// Resident returns the memory of what the images have in common, in bytes.
func (f *Family) Resident() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil || f.first.refs.Load() == 0 {
		return 0
	}
	return f.first.held
}

// joined joins ranges that are near each other until there are at most most. They are in order.
func joined(all []span, most int) []span {
	for gap := 0; ; gap = 2*gap + 1<<12 {
		var joint []span
		for _, s := range all {
			if n := len(joint); n > 0 && s.from-joint[n-1].to <= gap {
				joint[n-1].to = s.to
				continue
			}
			joint = append(joint, s)
		}
		if all = joint; len(all) <= most {
			return all
		}
	}
}
