// Package lock remembers which bytes of each plugin an operator agreed to, and keeps those bytes, so that
// whatever else turns up in the plugin's place waits until somebody has looked at it.
//
//	file ──▶ digest ──▶ the pinned one?  ── yes ──▶ serves
//	                        │ none yet    ──▶ pinned, unless the lock is closed; serves
//	                        └ another     ──▶ held; the kept bytes of the pinned one serve
//
// The lock is one JSON file that a person can read and put under version control. It holds, for each plugin
// by its name, the digest of the code, what the code imports, what the plugin wants, and a hash of the
// definition of each tool, prompt, resource and resource template:
//
//	l, err := lock.Open(lock.Options{File: "sallyport.lock", Keep: keep})
//	if pin, ok := l.Pin("notes"); ok && pin.Digest != digest { … held … }
//	l.Trust("notes", terms.Pin("/plugins/notes.wasm")) // at the first use
//	err = l.Keep(wasm, terms)
//	err = l.Save(ctx)
//
// A pin is in the file only when its bytes are kept: so "the approved ones serve" is true whenever it is said, also
// after a process was killed between the two. One file serves all plugin folders of a state folder, since a plugin's name
// means the same bytes in each of them.
//
// Any number of processes use one file: each change reads it, changes one thing and replaces it whole, under
// a lock of the operating system. A file that cannot be read is an error and is never written over.
//
// This package is not promised to others; it may change with any version.
package lock
