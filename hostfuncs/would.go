package hostfuncs

import "fmt"

// would is what a call that only tries has held back.
type would struct {
	list   []string       // in full, for whoever may know what was touched
	counts map[string]int // how often, by what was to be done: "POST", "write", "mkdir", "keys"
}

// add notes what happened n times, and leaves out of the list what is beyond its bound.
func (w *would) add(do string, n int, text string) {
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[do] += n
	if len(w.list) < maxEffects {
		w.list = append(w.list, text)
	}
}

// hold notes an effect outside of this machine that a call which only tries would have had.
func (g *Gate) hold(method, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held.add(method, 1, text)
}

// tried is all that the call would have done: keys, files and requests. g.mu is held.
func (g *Gate) tried() (w would) {
	if !g.call.DryRun {
		return w
	}
	if n := len(g.kept.writes); n > 0 {
		w.add("keys", n, fmt.Sprintf("keep or remove %d keys", n))
	}
	if g.files != nil {
		f := &files{gate: g}
		for _, e := range g.files.Effects() {
			what := e.Do + " " + f.shown(e.Host)
			if e.Do == "write" {
				what += fmt.Sprintf(" (%d bytes)", e.Size)
			}
			w.add(e.Do, 1, what)
		}
	}
	if w.list = append(w.list, g.held.list...); w.counts == nil {
		w.counts = map[string]int{}
	}
	for do, n := range g.held.counts {
		w.counts[do] += n
	}
	return w
}
