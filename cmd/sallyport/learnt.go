package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant/infer"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// learnt collects the audit lines of one plugin's calls.
type learnt struct {
	plugin settings.Plugin
	gates  *hostfuncs.Host
	places infer.Places
	needs  []infer.Need
	never  map[string]*never // by reason
	others int               // denials with reasons over maxReasons
	lets   map[string]bool   // results of allows, by line and effect
}

const (
	// maxReasons is the limit of reasons kept; each may be a sentence about one effect.
	maxReasons = 32
	// maxSeen is the limit of distinct effects counted per reason.
	maxSeen = 1000
)

// never holds the effects that no line allows, for one reason.
type never struct {
	effect string // the first one
	seen   map[string]bool
	more   int // count of the others
}

// noted holds the members of an audit line that are read.
type noted struct {
	Call, Plugin, Tool, Outcome string
	Learnt                      []receipt.Learnt
	Denials                     []receipt.Denial
}

// readLearnt reads the needs of a plugin's calls, oldest first within each chain.
func readLearnt(s *settings.Settings, plugin string) (*learnt, error) {
	l := &learnt{plugin: settings.Plugin{Name: plugin, Grants: grant.NewSet().Under(s.Ceiling)}, never: map[string]*never{}, lets: map[string]bool{}}
	if i := slices.IndexFunc(s.Plugins, func(p settings.Plugin) bool { return p.Name == plugin }); i >= 0 {
		l.plugin = s.Plugins[i]
	}
	l.gates = host.Gates(s)
	defer l.gates.Close()
	l.places = infer.Places{Home: l.gates.Places().Home, Workspace: l.plugin.Workspace}
	err := audit.Read(s.State().Audit(), func(line audit.Line) bool {
		name, ok := jsonraw.String(jsonraw.Get(line.Text, "plugin"))
		var n noted
		if ok && name == plugin && json.Unmarshal(line.Text, &n) == nil {
			l.add(n)
		}
		return true
	})
	return l, err
}

// add adds the needs of a call. A denial counts as a need only if the call was not recorded in full, and if the
// suggested line would allow it now.
func (l *learnt) add(n noted) {
	var needs []infer.Need
	for _, e := range n.Learnt {
		needs = append(needs, infer.Need{Line: e.Line, Call: n.Call, Tool: n.Tool, Used: e.Used, Refused: e.Refused, Tried: e.Tried})
	}
	for _, d := range n.Denials {
		line := lineIn(d.Hint)
		if line == "" || !l.allows(line, d.Effect) {
			if !n.passed(d) {
				l.noteNever(d)
			}
		} else if len(n.Learnt) == 0 {
			line = infer.Lines(line, l.places, nil)[0]
			needs = append(needs, infer.Need{Line: line, Call: n.Call, Tool: n.Tool, Refused: d.Count, Guessed: true})
		}
	}
	needs = infer.Needed(needs, l.places)
	for i := range needs {
		needs[i].Spare = n.Outcome == receipt.OK && needs[i].Used+needs[i].Tried == 0 && strings.HasPrefix(needs[i].Line, "fs: read ")
	}
	l.needs = append(l.needs, needs...)
}

// passed reports whether a denied folder is only a parent of a different denied file.
func (n *noted) passed(d receipt.Denial) bool {
	_, folder, _ := strings.Cut(d.Effect, " ")
	return d.Family == "fs" && slices.ContainsFunc(n.Denials, func(o receipt.Denial) bool {
		_, name, _ := strings.Cut(o.Effect, " ")
		return o.Family == "fs" && strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
	})
}

// noteNever records a denial that no line allows.
func (l *learnt) noteNever(d receipt.Denial) {
	reason := strings.TrimPrefix(d.Reason, fmt.Sprintf("plugin %q may not %s: ", l.plugin.Name, d.Effect))
	n := l.never[reason]
	switch {
	case n == nil && len(l.never) >= maxReasons:
		l.others++
	case n == nil:
		l.never[reason] = &never{effect: d.Effect, seen: map[string]bool{d.Effect: true}}
	case !n.seen[d.Effect] && len(n.seen) < maxSeen:
		n.seen[d.Effect] = true
		n.more++
	}
}

// lineIn returns the line that a denial's hint suggests, possibly behind a command; "" if there is none. Text within a
// line that looks like this form comes from the plugin, and is not parsed.
func lineIn(hint string) string {
	if strings.HasPrefix(hint, "sallyport ") {
		_, hint, _ = strings.Cut(hint, ", or the line ")
	}
	if _, err := grant.ParseLine(hint); err != nil {
		return ""
	}
	return hint
}

// allows reports whether a line would allow an effect now, with the deny lines and ceilings applied. It reports true
// for effects that cannot be explained.
func (l *learnt) allows(line, effect string) bool {
	key := line + "\x00" + effect
	yes, known := l.lets[key]
	if known {
		return yes
	}
	parsed, err := grant.ParseLine(line)
	if err != nil {
		return false
	}
	policy := l.gates.Plugin(hostfuncs.Plugin{Name: l.plugin.Name, Grants: l.plugin.Grants.Limits().With(parsed.ForAll()), Workspace: l.plugin.Workspace})
	defer policy.Close()
	x, err := policy.Explain(hostfuncs.Call{Principal: "cli"}, effect)
	l.lets[key] = err != nil || x.Allowed
	return l.lets[key]
}
