package hostfuncs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// question returns the operator's question about an effect that the plugin declared, or that an ask line matches.
// Each call asks about every file effect if it waits, else once per want. If ok is false there is no question, and
// why is the reason if the caller can act on it.
func (c *consents) question(e effect, d grant.Decision) (q store.Question, why string, ok bool) {
	var want Want
	if !d.Ask {
		if want, ok = c.rules.announced(e); !ok {
			return q, "", false
		}
		q.Want, q.Why = want.line(), want.Why
	}
	again := c.wants[q.Want] && !(c.rules.policy.host.options.Operator.Waits() && c.seesAnswers(e))
	if q.Line = e.decide(nil).Suggest; q.Line == "" || again {
		return q, "", false
	}
	if c.rules.redact(q.Line) != q.Line || c.rules.redact(q.Want) != q.Want { // secret values are neither stored nor shown
		return q, "", false
	}
	if q.Binding = fingerprint(e); q.Binding == "" {
		return q, "", false
	}
	if q.Effect, ok = c.rules.shown(e); !ok {
		return q, "it is too long to be shown", false
	}
	if c.asked >= maxAsked {
		return q, fmt.Sprintf("one call asks %d questions at most", maxAsked), false
	}
	if c.wants == nil {
		c.wants = map[string]bool{}
	}
	c.asked++
	c.wants[q.Want] = true
	plugin := &c.rules.policy.plugin
	q.Plugin, q.Digest, q.Principal = plugin.Name, plugin.Digest, c.rules.session.call.Principal
	return q, "", true
}

// shown describes an effect for a question, with everything that a request sends; a body by its size and digest.
// whole is false if the text is too long: the effect is then not asked about, since consent requires the full text.
func (r *rules) shown(e effect) (text string, whole bool) {
	text = e.act
	if e.web.body != nil {
		data, err := e.web.body()
		if err != nil {
			return printable(cut(text, maxShown)), false
		}
		if len(data) > 0 {
			text += fmt.Sprintf(", with a body of %d bytes (SHA-256 %x)", len(data), sha256.Sum256(data))
		}
	}
	if fields := fieldsOf(e.web.header); len(fields) > 0 {
		text += ", with the header " + strings.Join(fields, ", ")
	}
	text = r.redact(printable(text))
	return text, len(text) <= maxShown
}

// fieldsOf returns the fields of a request in a fixed order, each quoted.
func fieldsOf(h http.Header) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			all = append(all, strconv.Quote(name+": "+v))
		}
	}
	return all
}

// fingerprint returns a digest of one exact effect, with the fields and body of a request; one-time answers are bound
// to it. It is empty if the body cannot be read.
func fingerprint(e effect) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%q\x00", e.family, e.act, fieldsOf(e.web.header))
	if e.web.body != nil {
		data, err := e.web.body()
		if err != nil {
			return ""
		}
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
