package hostfuncs

import (
	"fmt"
	"io"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Input returns a file as the standard input of the program. Its first read opens the file, under the grants of the call
// and from the program's working directory. A file that cannot be read ends the call.
func (g *Gate) Input(path string) io.Reader { return &inputFile{gate: g, path: path} }

// inputFile reads a file of the guest in pieces, so that the host holds none of it.
type inputFile struct {
	gate *Gate
	path string
	file wasi.File // nil before the first read
	at   int64
}

// Len makes it a reader that package wasi reads within a host function of the guest, where an open may ask the operator.
func (*inputFile) Len() int { return 0 }

// Read implements io.Reader for a host function.
func (i *inputFile) Read(p []byte) (int, error) {
	if i.file == nil {
		i.file = i.open()
	}
	n, e := i.file.ReadAt(p, i.at)
	switch {
	case e != wasi.ESUCCESS:
		i.fail(e.Error())
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	i.at += int64(n)
	return n, nil
}

func (i *inputFile) open() wasi.File {
	path := i.path
	if !strings.HasPrefix(path, "/") {
		path = workDir + "/" + path
	}
	f, e := i.gate.WASI().Tree().Open(path, wasi.OpenOptions{Read: true})
	switch e {
	case wasi.ESUCCESS:
	case wasi.ENOENT:
		i.fail("it does not exist, or no grant allows reading it")
	default:
		i.fail(e.Error())
	}
	i.gate.life.onClose(func() { f.Close() })
	switch s, e := f.Stat(); {
	case e != wasi.ESUCCESS:
		i.fail(e.Error())
	case s.Type == wasi.TypeDirectory:
		i.fail("it is a folder")
	}
	return f
}

// fail ends the call. It does not return.
func (i *inputFile) fail(reason string) {
	runtime.Abort(&runtime.EndError{Kind: runtime.KindInvalid,
		Message: fmt.Sprintf("the file %q, the standard input of the program, cannot be read: %s", printable(cut(i.path, maxAct)), reason)})
}
