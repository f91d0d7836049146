package host

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// Console prepares the page on which the person who runs this host answers. Over HTTP it is there at once, on
// stdio from the first question on; where it is stands on out, and in no log and no answer. It is called before any
// call, and the caller closes it.
func (h *Host) Console(out io.Writer) (*console.Console, error) {
	s, log := h.settings, h.log
	c := console.New(console.Options{Store: h.Store, Note: h.note, Plugins: h.shown, Logger: log})
	addr := s.Text("console")
	if addr == "off" {
		return c, nil
	}
	if err := console.Check(addr); err != nil {
		return nil, voice.Hint(err, "console: off has no such page")
	}
	open := sync.OnceFunc(func() {
		url, err := c.Listen(addr)
		if err != nil {
			log.Warn("there is no console page", "error", err)
			return
		}
		fmt.Fprintf(out, "the console is on %s\n", url)
	})
	h.ended = func(r receipt.Receipt, tool string) {
		if r.Outcome != "" { // what has none is a start, not a call
			c.Ended(shownCall(r, tool))
		}
	}
	h.asked = open
	if s.Text("http.addr") != "" {
		open()
	}
	return c, nil
}

// note writes an answer into the audit log of this host, where it is on the disk before the answer is told.
func (h *Host) note(a operator.Answered) error {
	_, err := h.audit.Append(a.Members())
	return errors.Join(err, h.audit.Sync())
}

// shown is what the page says about each plugin.
func (h *Host) shown() []console.Plugin {
	var all []console.Plugin
	for _, p := range h.Registry.Plugins() {
		if p.File != "" {
			all = append(all, console.Plugin{
				Name: p.Name, State: string(p.State), Version: p.Version, Error: p.Error, Wants: p.Wants, Grants: p.Grants, Ceilings: p.Ceilings,
			})
		}
	}
	return all
}

// shownCall is what the page says about a call.
func shownCall(r receipt.Receipt, tool string) console.Call {
	c := console.Call{ID: r.Call, At: time.Now(), Plugin: r.Plugin, Tool: tool, Outcome: r.Outcome, Millis: r.Millis}
	for _, e := range r.Effects {
		c.Effects = append(c.Effects, fmt.Sprintf("%s %s × %d", e.Family, e.Target, e.Count))
	}
	for _, d := range r.Denials {
		c.Denials = append(c.Denials, d.Effect)
	}
	return c
}
