package host

import (
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// newOperator returns the handler of questions about effects without a matching grant; nil if the setting ask is off.
func (h *Host) newOperator() hostfuncs.Operator {
	how := h.settings.Text("ask")
	if how == "off" {
		return nil
	}
	return consent.New(consent.Options{
		Store: h.Store, Wait: how == "wait", Logger: h.log, Flags: h.flags, Told: h.tell,
	})
}

// newForms returns the handler of plugins' elicitations that the client does not support; nil if the setting
// elicitation is off.
func (h *Host) newForms() *elicit.Desk {
	how := h.settings.Text("elicitation")
	if how == "off" {
		return nil
	}
	return elicit.New(elicit.Options{Store: h.Store, Wait: how == "wait", Logger: h.log, Flags: h.flags, Told: func(f elicit.Form) {
		h.log.Warn(strings.TrimSpace("a plugin asks you something: sallyport answer "+f.ID+" "+h.flags)+", or "+ConsoleCommand(h.settings), "plugin", f.Plugin)
	}})
}

// tell logs a new question, so that the operator who started the host may see it.
func (h *Host) tell(q store.Question) {
	h.log.Warn(strings.TrimSpace("a plugin asks: sallyport allow "+q.ID+" "+h.flags)+", or deny, or "+ConsoleCommand(h.settings), "plugin", q.Plugin, "effect", q.Effect)
}
