package journal

import (
	"crypto/sha256"
	gohash "hash"
)

// observations is the family of entries that summarize all observations between two other entries.
const observations = "looking at files and keys"

// observed summarizes the observations since the last entry.
type observed struct {
	seen  gohash.Hash // of their hashes; nil if there are none
	looks int         // their number
}

// Observe adds content that the guest reads again on replay. The journal keeps only a hash, and replay fails if the
// content has changed.
func (o *observed) Observe(parts ...[]byte) {
	if o.seen == nil {
		o.seen = sha256.New()
	}
	h := sum(parts)
	o.seen.Write(h[:])
	o.looks++
}

// take returns the hash of the observations and forgets them; false if there are none.
func (o *observed) take() (h hash, ok bool) {
	if o.looks == 0 {
		return h, false
	}
	copy(h[:], o.seen.Sum(nil))
	o.seen, o.looks = nil, 0
	return h, true
}
