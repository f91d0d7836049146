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
func (g *Gate) question(e effect, d grant.Decision) (q store.Question, why string, ok bool) {
	var want Want
	if !d.Ask {
		if want, ok = g.announced(e); !ok {
			return q, "", false
		}
		q.Want, q.Why = want.line(), want.Why
	}
	again := g.consents.wants[q.Want] && !(g.policy.host.operator.Waits() && g.seesAnswers(e))
	if q.Line = e.decide(nil).Suggest; q.Line == "" || again {
		return q, "", false
	}
	if g.redact(q.Line) != q.Line || g.redact(q.Want) != q.Want { // secret values are neither stored nor shown
		return q, "", false
	}
	if q.Binding = fingerprint(e); q.Binding == "" {
		return q, "", false
	}
	if q.Effect, ok = g.shownTo(e); !ok {
		return q, "it is too long to be shown", false
	}
	if g.consents.asked >= maxAsked {
		return q, fmt.Sprintf("one call asks %d questions at most", maxAsked), false
	}
	if g.consents.wants == nil {
		g.consents.wants = map[string]bool{}
	}
	g.consents.asked++
	g.consents.wants[q.Want] = true
	q.Plugin, q.Digest, q.Principal = g.policy.plugin.Name, g.policy.plugin.Digest, g.call.Principal
	return q, "", true
}

// shownTo describes an effect for a question, with everything that a request sends; a body by its size and digest.
// whole is false if the text is too long: the effect is then not asked about, since consent requires the full text.
func (g *Gate) shownTo(e effect) (text string, whole bool) {
	text = e.act
	if e.body != nil {
		data, err := e.body()
		if err != nil {
			return printable(cut(text, maxShown)), false
		}
		if len(data) > 0 {
			text += fmt.Sprintf(", with a body of %d bytes (SHA-256 %x)", len(data), sha256.Sum256(data))
		}
	}
	if fields := fieldsOf(e.header); len(fields) > 0 {
		text += ", with the header " + strings.Join(fields, ", ")
	}
	text = g.redact(printable(text))
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

// announced returns the want that covers an effect, under the ceilings of the call.
func (g *Gate) announced(e effect) (Want, bool) {
	decide := e.decide
	if e.announced != nil {
		decide = e.announced
	}
	i := slices.IndexFunc(g.policy.wants, func(w Want) bool {
		set := g.policy.bound(w.Grants, g.call)
		for _, c := range g.grants.Ceilings() {
			set = set.Under(c)
		}
		d := decide(set)
		return (d.Allowed || d.Ask) && (d.Named || e.inside == nil || !e.inside())
	})
	if i < 0 {
		return Want{}, false
	}
	return g.policy.wants[i], true
}

// fingerprint returns a digest of one exact effect, with the fields and body of a request; one-time answers are bound
// to it. It is empty if the body cannot be read.
func fingerprint(e effect) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%q\x00", e.family, e.act, fieldsOf(e.header))
	if e.body != nil {
		data, err := e.body()
		if err != nil {
			return ""
		}
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
