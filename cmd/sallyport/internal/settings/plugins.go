package settings

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// Plugin is the section of one plugin.
type Plugin struct {
	Name     string // its key
	Line     int
	Source   string // a file; "" is NAME.wasm in the plugin folder
	Disabled bool
	Trust    Trust
	Publish  Publish
	Callers  []CallerRule // limit the published entries to some callers; empty publishes them to all
	Limits   Limits
	// LimitsFor are those of some callers, in place of Limits.
	LimitsFor []CallerLimits
	State     string        // lifetime of an instance; "" is the plugin's choice
	Frozen    bool          // clocks do not advance
	Seeded    bool          // random numbers are the same in each call
	Record    time.Duration // for how long its calls are recorded; 0 records none
	Learn     bool          // record the grants that its calls need in the audit log
	// Grants are its permissions, under the ceilings of the file and its own.
	Grants *grant.Set
	// Workspace is the absolute path of {workspace} in its grants; "" is none.
	Workspace string

	// Written is every value of the section, in its order.
	Written []Written

	ceiling *grant.Set
}

// Trust says which bytes of a plugin run without an approval, besides those in the lock file.
type Trust struct {
	Digest  string // pinned digest, "sha256:" and hex; "" uses the lock file
	Updates string // "same-interface": new bytes with the same interface and wants; "" is none
	Dev     bool   // any bytes
}

// Publish selects the names that a plugin publishes, and their form.
type Publish struct {
	Prefix bool     // publish tools as NAME-tool; default true
	Only   []string // allowlist; nil is all
	Hide   []string // denylist
}

// Written is one value of a plugin's section.
type Written struct {
	Name string // dotted: limits.memory
	Text string // grants are in canonical form
	Line int
}

// Limits bound one plugin. A zero field means the host's setting; for the rates, PrincipalCalls, Sent and Received,
// which have none, it means no limit.
type Limits struct {
	Memory      int64 // bytes
	Deadline    time.Duration
	Task        time.Duration
	Output      int64 // bytes
	Concurrency int
	Queue       int
	Wait        time.Duration

	Rate, PrincipalRate float64 // calls per second
	PrincipalCalls      int     // concurrent calls of one principal
	Sent, Received      int64   // bytes per call
}

// readPlugins reads the plugins section and applies the ceilings.
func readPlugins(root *strictyaml.Node, ceiling *grant.Set) ([]Plugin, error) {
	var out []Plugin
	known, err := readGroups(root)
	if err != nil {
		return nil, err
	}
	err = root.Each("the file", func(key, value *strictyaml.Node) error {
		if key.Text != "plugins" {
			return nil
		}
		return value.Each("plugins", func(name, body *strictyaml.Node) error {
			p, err := readPlugin(name, body, known)
			p.Grants = p.Grants.Under(ceiling).Under(p.ceiling)
			out = append(out, p)
			return err
		})
	})
	return out, err
}

func readPlugin(name, body *strictyaml.Node, known groups) (Plugin, error) {
	p := Plugin{Name: name.Text, Line: name.Line, Publish: Publish{Prefix: true}, Grants: &grant.Set{}}
	if err := manifest.CheckName(p.Name); err != nil {
		return p, name.Errorf("%v", err)
	}
	err := body.Each(p.Name, func(k, v *strictyaml.Node) error {
		read := p.field
		switch k.Text {
		case "callers":
			read = func(_, v *strictyaml.Node) error { return p.readCallers(v, known) }
		case "limits":
			read = func(_, v *strictyaml.Node) error { return p.readLimits(v, known) }
		case "grants":
			read = func(_, v *strictyaml.Node) (err error) {
				p.Grants, err = readGrants(v, known)
				return err
			}
		}
		if err := read(k, v); err != nil {
			return err
		}
		p.note(k.Text, v)
		return nil
	})
	if err == nil {
		err = p.checkShared()
	}
	return p, err
}

// checkShared refuses a value of one caller in the memory that all callers of a plugin share.
func (p *Plugin) checkShared() error {
	for _, g := range p.Grants.Lines() {
		for _, s := range grant.NewSet(g).Secrets() {
			if p.State == "plugin" && s.Reveal && (s.PerPrincipal || len(g.Who) > 0) {
				return strictyaml.Errorf(g.Line, "reveal gives the plugin the value of %s of one caller, and with state: plugin its memory is that of all: leave reveal out", s.Name)
			}
		}
	}
	return nil
}

// note records the values under a key that was read.
func (p *Plugin) note(name string, n *strictyaml.Node) {
	switch {
	case name == "grants" || name == "max_grants":
		set := p.Grants
		if name == "max_grants" {
			set = p.ceiling
		}
		for _, g := range set.Lines() {
			p.Written = append(p.Written, Written{name, g.String(), g.Line})
		}
	case name == "callers":
		for _, r := range p.Callers {
			p.Written = append(p.Written, Written{name, r.String(), r.Line})
		}
	case name == "limits.for":
		for _, c := range p.LimitsFor {
			p.Written = append(p.Written, Written{name, c.String(), c.Line})
		}
	case n.Kind == strictyaml.Mapping:
		for _, m := range n.Members {
			p.note(name+"."+m.Key.Text, m.Value)
		}
	case n.Kind == strictyaml.Sequence:
		items, _ := n.Texts(name) // validated before
		p.Written = append(p.Written, Written{name, strings.Join(items, ", "), n.Line})
	default:
		p.Written = append(p.Written, Written{name, n.Text, n.Line})
	}
}

// field reads one key of a plugin.
func (p *Plugin) field(k, v *strictyaml.Node) (err error) {
	if err := checkKey(k, "", "plugin "+p.Name); err != nil {
		return err
	}
	name := p.Name + "." + k.Text
	switch k.Text {
	case "source":
		p.Source, err = v.Scalar(name)
	case "digest":
		p.Trust.Digest, err = digest(v, name)
	case "disabled":
		p.Disabled, err = boolean(v, name)
	case "prefix":
		p.Publish.Prefix, err = boolean(v, name)
	case "publish":
		err = p.Publish.read(v, name)
	case "state":
		p.State, err = oneOf(v, name, "call", "fresh", "session", "plugin")
	case "clock":
		p.Frozen, err = special(v, name, "real", "frozen")
	case "random":
		p.Seeded, err = special(v, name, "real", "seeded")
	case "learn":
		p.Learn, err = boolean(v, name)
	case "record":
		p.Record, err = age(v, name)
	case "updates":
		p.Trust.Updates, err = oneOf(v, name, "approve", "same-interface")
	case "dev":
		p.Trust.Dev, err = boolean(v, name)
	case "workspace":
		p.Workspace, err = v.Scalar(name)
	case "max_grants":
		p.ceiling, err = readLimits(v)
	}
	return err
}

func (p *Publish) read(n *strictyaml.Node, name string) error {
	return n.Each(name, func(k, v *strictyaml.Node) error {
		err := checkKey(k, "publish.", "publish")
		if err != nil {
			return err
		}
		switch k.Text {
		case "only":
			p.Only, err = v.Texts("publish.only")
		case "hide":
			p.Hide, err = v.Texts("publish.hide")
		}
		return err
	})
}

func (p *Plugin) readLimits(n *strictyaml.Node, known groups) error {
	name := p.Name + ".limits"
	return n.Each(name, func(k, v *strictyaml.Node) error {
		if k.Text == "for" {
			return p.readCallerLimits(v, known)
		}
		return p.Limits.set(k, v, name)
	})
}

// set reads one limit. also are other keys beside it, for the hint of an unknown one.
func (l *Limits) set(k, v *strictyaml.Node, name string, also ...string) error {
	if err := checkKey(k, "limits.", name, also...); err != nil {
		return err
	}
	text, err := v.Scalar(name + "." + k.Text)
	if err != nil {
		return err
	}
	switch k.Text {
	case "memory":
		l.Memory, err = grant.ParseSize(text)
	case "deadline":
		l.Deadline, err = ParseDuration(text)
	case "task":
		l.Task, err = ParseDuration(text)
	case "output":
		l.Output, err = grant.ParseSize(text)
	case "concurrency":
		l.Concurrency, err = ParseCount(text)
	case "queue":
		l.Queue, err = ParseCount(text)
	case "wait":
		l.Wait, err = ParseDuration(text)
	case "rate":
		l.Rate, err = ParseRate(text)
	case "principal_rate":
		l.PrincipalRate, err = ParseRate(text)
	case "principal_calls":
		l.PrincipalCalls, err = ParseCount(text)
	case "sent":
		l.Sent, err = grant.ParseSize(text)
	case "received":
		l.Received, err = grant.ParseSize(text)
	}
	if err != nil {
		return v.Errorf("%s.%s: %v", name, k.Text, err)
	}
	return nil
}

// oneOf reads a scalar that must be one of words.
func oneOf(n *strictyaml.Node, name string, words ...string) (string, error) {
	text, err := n.Scalar(name)
	if err == nil && !slices.Contains(words, text) {
		err = n.Errorf("%s: %q is none of %s", name, text, strings.Join(words, ", "))
	}
	return text, err
}

// special reads one of two words, and reports whether it is the second.
func special(n *strictyaml.Node, name, usual, other string) (bool, error) {
	text, err := oneOf(n, name, usual, other)
	return text == other, err
}

// age reads the time for which calls are recorded.
func age(n *strictyaml.Node, name string) (time.Duration, error) {
	text, err := n.Scalar(name)
	if err != nil {
		return 0, err
	}
	days, size, err := ParseKeep(text)
	if err != nil || size != 0 || days <= 0 || days > recording.MaxAge {
		return 0, n.Errorf("%s: %q is not 1 to 30 days; write 7d", name, text)
	}
	return days, nil
}

// digestText matches a SHA-256 as printed by inspect and the log.
var digestText = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func digest(n *strictyaml.Node, name string) (string, error) {
	text, err := n.Scalar(name)
	if err == nil && !digestText.MatchString(text) {
		err = n.Errorf("%s: %q is no digest: write sha256: and 64 hex digits, as sallyport inspect prints them", name, text)
	}
	return text, err
}

func boolean(n *strictyaml.Node, name string) (bool, error) {
	text, err := n.Scalar(name)
	if err != nil {
		return false, err
	}
	if err := check(Bool, text); err != nil {
		return false, n.Errorf("%s: %v", name, err)
	}
	return text == "true", nil
}
