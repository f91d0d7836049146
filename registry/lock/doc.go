// Package lock records the approved bytes of each plugin and stores copies of them, so that changed bytes of a plugin
// wait for the operator's approval.
//
//	file ──▶ digest ──▶ pinned?  ── yes ──▶ serves
//	                        │ no pin  ──▶ pinned, unless the lock is closed; serves
//	                        └ changed ──▶ held; the stored copy of the pinned bytes serves
//
// The lock is one JSON file, meant to be readable and kept under version control. For each plugin name it holds the
// digest of the code, its imports, its wants, and a hash of the definition of each tool, prompt, resource and resource
// template:
//
//	l, err := lock.Open(lock.Options{File: "sallyport.lock", Keep: keep})
//	if pin, ok := l.Pin("notes"); ok && pin.Digest != digest { … held … }
//	l.Trust("notes", terms.Pin("/plugins/notes.wasm")) // at the first use
//	err = l.Copies.Put(wasm, terms)
//	err = l.Save(ctx)
//
// A pin is written to the file only after its bytes are stored, so the approved bytes are always available to serve,
// even if the process is killed in between. One file covers all plugin folders of a state folder, since a plugin name
// means the same bytes in each of them.
//
// With Options.Store the same content is one record of a database, which the hosts of several machines share, and the
// copies are there too, by digest: a host that lacks approved bytes fetches and verifies them. Which plugins there are is
// said by each host's folder.
//
// Several processes can share one file: each update reads it, makes its change and replaces the whole file, under a
// lock of the operating system. An unreadable file is an error and is never overwritten.
package lock
