// Sallyport-sigstore verifies sigstore bundles for sallyport, which starts it. It is a program of its own because the
// libraries of sigstore would add 10 MB to sallyport, and because a bundle comes from strangers: a bundle that takes over
// its parser has a process with an empty environment, and on Linux one that only computes.
//
// One request in JSON comes on standard input and one answer goes to standard output, and nothing else is read or
// written: the digests of a file come in place of the file, and the trusted root comes in the request. A kernel of Linux
// with filters of system calls holds that: after its first step the process opens no file and no socket, and starts no
// program. For an update of the trusted root sallyport fetches the addresses that the process names, on the same two pipes.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

const (
	// maxRequest limits a request, in bytes: a bundle and a trusted root have at most 1 MiB each, as sallyport sends them,
	// and a target of an update has 5 MiB in base64.
	maxRequest = 16 << 20
	// maxMemory is the memory that the collector of garbage aims at, in bytes.
	maxMemory = 256 << 20
)

func main() {
	debug.SetMemoryLimit(maxMemory)
	confine()
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sallyport-sigstore:", err)
		os.Exit(2)
	}
}

// request is a request of sallyport, one of its members.
type request struct {
	Verify *verification `json:"verify"`
	Update *update       `json:"update"`
}

// serve answers one request.
func serve(in io.Reader, out io.Writer) error {
	d := json.NewDecoder(&io.LimitedReader{R: in, N: maxRequest})
	e := json.NewEncoder(out)
	var r request
	if err := d.Decode(&r); err != nil {
		return fmt.Errorf("the request is not JSON: %w; sallyport starts this program, and people have no use for it", err)
	}
	switch {
	case r.Verify != nil:
		return e.Encode(r.Verify.verdict())
	case r.Update != nil:
		return e.Encode(r.Update.run(d, e))
	}
	return fmt.Errorf("the request names nothing to do")
}
