// Package overlay keeps what a call writes apart from the host's files until the call has succeeded.
//
//	guest ──▶ Overlay ──▶ tree.Tree (the granted part of the host's files, only read here)
//	             │
//	             └─ nodes: by real path, what the call made, changed, moved and removed
//	                  │ Changes, when the call has succeeded
//	                  ▼
//	             landing.Land: all of it at once, or nothing
//
// The guest sees its own writes at once, everybody else sees none. A call that fails, is cancelled or runs
// into its deadline leaves nothing behind: its overlay is dropped.
//
// As long as a call has written nothing every operation goes straight to the tree, and a file that is only
// read is the host's own, so reading costs what it cost before. Small contents are held in memory, larger
// ones in a file without a name in the scratch folder. Paths of a grant with mode: direct are written in
// place, at once.
//
// An Overlay serves one call and one goroutine at a time. The package is internal to Sallyport.
package overlay
