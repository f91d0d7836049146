package main

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// openConsole prepares the page on which the person who runs this host answers. Over HTTP it is there at once, on
// stdio from the first question on; where it is stands on standard error, and in no log and no answer. Close what
// it returns.
func (h *host) openConsole(s *settings.Settings, log *slog.Logger, std stdio) (*console.Console, error) {
	c := console.New(console.Options{Store: h.store, Note: h.note, Plugins: h.shown, Logger: log})
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
		fmt.Fprintf(std.err, "the console is on %s\n", url)
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
func (h *host) note(a operator.Answered) error {
	_, err := h.audit.Append(a.Members())
	return errors.Join(err, h.audit.Sync())
}

// shown is what the page says about each plugin.
func (h *host) shown() []console.Plugin {
	var all []console.Plugin
	for _, p := range h.registry.Plugins() {
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
