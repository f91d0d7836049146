package host

import (
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/form"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
)

// newOperator is where the calls of this host ask what no line allows; nil if nobody is asked.
func (h *Host) newOperator() hostfuncs.Operator {
	how := h.settings.Text("ask")
	if how == "off" {
		return nil
	}
	return operator.New(operator.Options{
		Store: h.Store, Wait: how == "wait", Logger: h.log, Flags: h.flags, Told: h.tell,
	})
}

// newForms is where plugins ask what the client of a call takes no questions about; nil if nobody is asked.
func (h *Host) newForms() *form.Desk {
	how := h.settings.Text("elicitation")
	if how == "off" {
		return nil
	}
	return form.New(form.Options{Store: h.Store, Wait: how == "wait", Logger: h.log, Flags: h.flags, Told: func(f form.Form) {
		h.log.Warn(strings.TrimSpace("a plugin asks you something: sallyport answer "+f.ID+" "+h.flags)+", or "+ConsoleCommand(h.settings), "plugin", f.Plugin)
	}})
}

// tell writes a new question into the log, where the person who started the host may see it.
func (h *Host) tell(q store.Question) {
	h.log.Warn(strings.TrimSpace("a plugin asks: sallyport allow "+q.ID+" "+h.flags)+", or deny, or "+ConsoleCommand(h.settings), "plugin", q.Plugin, "effect", q.Effect)
}
