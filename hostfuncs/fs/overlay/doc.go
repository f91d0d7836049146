// Package overlay implements wasi.Tree with copy on write: the writes of a call are kept apart from the host's files
// until the call has succeeded.
//
//	guest ──▶ Overlay ──▶ jail.Tree (the granted part of the host's files, only read here)
//	              │
//	              └─ changeset: the real paths created, changed, moved and removed by the call
//	                   │ Changes, when the call has succeeded
//	                   ▼
//	              commit.Land: commits all of it, or nothing
//
// The guest sees its own writes at once, other processes do not. If a call fails, is cancelled or exceeds its
// deadline, its overlay is dropped without any effect.
//
// Before the first write of a call every operation goes directly to the tree, and a file that is only read is the
// host's own, so that reading has no overhead. Small contents are held in memory, larger ones in an unlinked file in
// the scratch folder. Paths of a grant with mode: direct are written in place, at once.
//
// An Overlay serves one call and one goroutine at a time.
package overlay
