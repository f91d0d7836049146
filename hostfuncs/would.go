package hostfuncs

import (
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
)

// hold records an effect outside this machine that a dry run held back.
func (g *Gate) hold(method, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held.Add(method, 1, text)
}

// tried returns the effects that a dry run held back: keys, files and requests. It requires g.mu.
func (g *Gate) tried() (w receipt.Would) {
	if !g.call.DryRun {
		return w
	}
	if n := len(g.kept.writes); n > 0 {
		w.Add("keys", n, fmt.Sprintf("keep or remove %d keys", n))
	}
	if g.files != nil {
		f := &files{gate: g}
		for _, e := range g.files.Effects() {
			what := e.Do + " " + f.shown(e.Host)
			if e.Do == "write" {
				what += fmt.Sprintf(" (%d bytes)", e.Size)
			}
			w.Add(e.Do, 1, what)
		}
	}
	w.Join(g.held)
	return w
}
