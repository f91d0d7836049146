package main

import (
	"log/slog"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/form"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
)

// newOperator is where the calls of this host ask what no line allows; nil if nobody is asked.
func newOperator(s *settings.Settings, h *host, log *slog.Logger) hostfuncs.Operator {
	how := s.Text("ask")
	if how == "off" {
		return nil
	}
	return operator.New(operator.Options{
		Store: h.store, Wait: how == "wait", Logger: log, Flags: h.flags, Told: func(q store.Question) { h.tell(log, q) },
	})
}

// newForms is where plugins ask what the client of a call takes no questions about; nil if nobody is asked.
func newForms(s *settings.Settings, h *host, log *slog.Logger) *form.Desk {
	how := s.Text("elicitation")
	if how == "off" {
		return nil
	}
	return form.New(form.Options{Store: h.store, Wait: how == "wait", Logger: log, Flags: h.flags, Told: func(f form.Form) {
		log.Warn(strings.TrimSpace("a plugin asks you something: sallyport answer "+f.ID+" "+h.flags), "plugin", f.Plugin)
		if h.asked != nil {
			h.asked()
		}
	}})
}

// tell writes a new question into the log, where the person who started the host may see it.
func (h *host) tell(log *slog.Logger, q store.Question) {
	log.Warn(strings.TrimSpace("a plugin asks: sallyport allow "+q.ID+" "+h.flags)+", or deny", "plugin", q.Plugin, "effect", q.Effect)
	if h.asked != nil {
		h.asked()
	}
}
