package hostfuncs

import (
	"encoding/json"
	"math"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// RehearsalGate opens the gate for a rehearsal of calls, which the plugin does not know as such. It is as that of
// WarmGate, but a request to the host and an access to a file end the rehearsal, with any grants: the plugin
// could keep the answer. Log messages are dropped.
func (p *Policy) RehearsalGate() *Gate {
	return p.bare(stageRehearsal).NewGate(Call{ID: "rehearsal", Method: "start"})
}

// errRehearsal ends a rehearsal that would depend on the host.
func errRehearsal() error {
	return runtime.AskErrorf(runtime.KindDenied, "a rehearsal asks the host for nothing")
}

// unasked ends the rehearsal at a request, but drops a log message.
func (g *Gate) unasked(method string) (json.RawMessage, error) {
	if method != "notifications/message" {
		runtime.Abort(errRehearsal())
	}
	return nil, nil
}

// endless ends a rehearsal that would wait without a timer, after waits: nothing arrives.
func endless(waits func(next time.Duration)) func(time.Duration) {
	return func(next time.Duration) {
		if waits != nil {
			waits(next)
		}
		if next == math.MaxInt64 {
			runtime.Abort(errRehearsal())
		}
	}
}

// aloneTree is the folder "/" of a rehearsal: an access ends it.
type aloneTree struct{}

var _ wasi.Tree = aloneTree{}

func (aloneTree) end() wasi.Errno {
	runtime.Abort(errRehearsal())
	return wasi.ENOENT
}

// Open does not return, as no other method does.
func (t aloneTree) Open(string, wasi.OpenOptions) (wasi.File, wasi.Errno) { return nil, t.end() }

// Stat does not return.
func (t aloneTree) Stat(string, bool) (s wasi.Stat, e wasi.Errno) { return s, t.end() }

// Mkdir does not return.
func (t aloneTree) Mkdir(string) wasi.Errno { return t.end() }

// Rename does not return.
func (t aloneTree) Rename(string, string) wasi.Errno { return t.end() }

// Unlink does not return.
func (t aloneTree) Unlink(string) wasi.Errno { return t.end() }

// Rmdir does not return.
func (t aloneTree) Rmdir(string) wasi.Errno { return t.end() }

// Symlink does not return.
func (t aloneTree) Symlink(string, string) wasi.Errno { return t.end() }

// Readlink does not return.
func (t aloneTree) Readlink(string) (string, wasi.Errno) { return "", t.end() }

// Link does not return.
func (t aloneTree) Link(string, string, bool) wasi.Errno { return t.end() }

// Chtimes does not return.
func (t aloneTree) Chtimes(string, wasi.Times, bool) wasi.Errno { return t.end() }
