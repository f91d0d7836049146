package settings

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// pluginName is what a plugin may be called: the first "-" of a public name ends it.
var pluginName = regexp.MustCompile(`^[A-Za-z0-9]+(_[A-Za-z0-9]+)*$`)

// Plugin is what the operator wrote about one plugin.
type Plugin struct {
	Name     string // its key
	Line     int
	Source   string // a file; "" is NAME.wasm in the plugin folder
	Digest   string // the only bytes that may serve, "sha256:" and hex; "" is the approved ones
	Disabled bool
	Prefix   bool     // publish tools as NAME-tool; true unless written otherwise
	Only     []string // publish nothing else; nil is everything
	Hide     []string // do not publish these
	Limits   Limits
	State    string // how long an instance lives; "" is as the plugin asks
	Frozen   bool   // its clocks stand still
	Seeded   bool   // its random numbers are the same in each call
	Learn    bool   // the audit log says which grants its calls need
	Updates  string // "same-interface": new bytes that offer and want the same need no approval; "" is none
	Dev      bool   // nor does anything else
	// Grants is what it may do, under the ceilings of the file and its own.
	Grants *grant.Set
	// Workspace is what {workspace} stands for in its grants, absolute; "" is nothing.
	Workspace string

	// Written is all that the file says of it, in its order.
	Written []Written

	ceiling *grant.Set
}

// Written is one value of a plugin as it stands in the file.
type Written struct {
	Name string // dotted: limits.memory
	Text string // a line of grants in its canonical form
	Line int
}

// Limits bound one plugin; a zero field means the host's own setting.
type Limits struct {
	Memory      int64 // bytes
	Deadline    time.Duration
	Task        time.Duration
	Output      int64 // bytes
	Concurrency int
	Queue       int
	Wait        time.Duration

	Rate, PrincipalRate float64 // calls a second
	PrincipalCalls      int     // of one principal at the same time
	Sent, Received      int64   // bytes of one call
}

// readPlugins reads the plugins section.
func readPlugins(root *yaml.Node, ceiling *grant.Set) ([]Plugin, error) {
	var out []Plugin
	if root == nil {
		return nil, nil
	}
	err := fields(root, "the file", func(key, value *yaml.Node) error {
		if key.Value != "plugins" {
			return nil
		}
		return fields(value, "plugins", func(name, body *yaml.Node) error {
			p, err := readPlugin(name, body)
			p.Grants = p.Grants.Under(ceiling).Under(p.ceiling)
			out = append(out, p)
			return err
		})
	})
	return out, err
}

func readPlugin(name, body *yaml.Node) (Plugin, error) {
	p := Plugin{Name: name.Value, Line: name.Line, Prefix: true, Grants: &grant.Set{}}
	if !pluginName.MatchString(p.Name) || p.Name == "sallyport" {
		return p, at(name.Line, "%q cannot be a plugin's name; use letters, digits and single underscores between them", p.Name)
	}
	err := fields(body, p.Name, func(k, v *yaml.Node) error {
		if err := p.field(k, v); err != nil {
			return err
		}
		p.note(k.Value, v)
		return nil
	})
	return p, err
}

// note keeps what was written under a key that was read.
func (p *Plugin) note(name string, n *yaml.Node) {
	switch {
	case name == "grants" || name == "max_grants":
		set := p.Grants
		if name == "max_grants" {
			set = p.ceiling
		}
		for _, g := range set.Grants() {
			p.Written = append(p.Written, Written{name, g.String(), g.Line})
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			p.note(name+"."+n.Content[i].Value, n.Content[i+1])
		}
	case n.Kind == yaml.SequenceNode:
		items, _ := texts(n, name) // it was read before
		p.Written = append(p.Written, Written{name, strings.Join(items, ", "), n.Line})
	default:
		p.Written = append(p.Written, Written{name, n.Value, n.Line})
	}
}

// field reads one key of a plugin.
func (p *Plugin) field(k, v *yaml.Node) (err error) {
	what := p.Name + "." + k.Value
	switch k.Value {
	case "source":
		p.Source, err = scalar(v, what)
	case "digest":
		p.Digest, err = digest(v, what)
	case "disabled":
		p.Disabled, err = boolean(v, what)
	case "prefix":
		p.Prefix, err = boolean(v, what)
	case "publish":
		err = p.publish(v)
	case "limits":
		err = p.Limits.read(v, what)
	case "state":
		p.State, err = oneOf(v, what, "call", "fresh", "session", "plugin")
	case "clock":
		p.Frozen, err = special(v, what, "real", "frozen")
	case "random":
		p.Seeded, err = special(v, what, "real", "seeded")
	case "learn":
		p.Learn, err = boolean(v, what)
	case "updates":
		p.Updates, err = oneOf(v, what, "approve", "same-interface")
	case "dev":
		p.Dev, err = boolean(v, what)
	case "workspace":
		p.Workspace, err = scalar(v, what)
	case "grants":
		p.Grants, err = readGrants(v)
	case "max_grants":
		p.ceiling, err = readLimits(v)
	default:
		err = at(k.Line, "unknown key %q in plugin %s; known are source, digest, disabled, prefix, publish, limits, state, clock, random, learn, updates, dev, workspace, grants, max_grants", k.Value, p.Name)
	}
	return err
}

func (p *Plugin) publish(n *yaml.Node) error {
	return fields(n, p.Name+".publish", func(k, v *yaml.Node) (err error) {
		switch k.Value {
		case "only":
			p.Only, err = texts(v, "publish.only")
		case "hide":
			p.Hide, err = texts(v, "publish.hide")
		default:
			err = at(k.Line, "unknown key %q in publish; known are only, hide", k.Value)
		}
		return err
	})
}

func (l *Limits) read(n *yaml.Node, what string) error {
	return fields(n, what, func(k, v *yaml.Node) error {
		text, err := scalar(v, what+"."+k.Value)
		if err != nil {
			return err
		}
		switch k.Value {
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
		default:
			return at(k.Line, "unknown key %q in %s; known are memory, deadline, task, output, concurrency, queue, wait, rate, "+
				"principal_rate, principal_calls, sent, received", k.Value, what)
		}
		if err != nil {
			return at(v.Line, "%s.%s: %w", what, k.Value, err)
		}
		return nil
	})
}

// oneOf reads a word out of a few.
func oneOf(n *yaml.Node, what string, words ...string) (string, error) {
	text, err := scalar(n, what)
	if err == nil && !slices.Contains(words, text) {
		err = at(n.Line, "%s: %q is none of %s", what, text, strings.Join(words, ", "))
	}
	return text, err
}

// special reads a word out of two, and tells whether it is the second.
func special(n *yaml.Node, what, usual, other string) (bool, error) {
	text, err := oneOf(n, what, usual, other)
	return text == other, err
}

// digestText is a SHA-256 as inspect and the log write it.
var digestText = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func digest(n *yaml.Node, what string) (string, error) {
	text, err := scalar(n, what)
	if err == nil && !digestText.MatchString(text) {
		err = at(n.Line, "%s: %q is no digest: write sha256: and 64 hex digits, as sallyport inspect prints them", what, text)
	}
	return text, err
}

func boolean(n *yaml.Node, what string) (bool, error) {
	text, err := scalar(n, what)
	if err != nil {
		return false, err
	}
	if err := check(Bool, text); err != nil {
		return false, at(n.Line, "%s: %w", what, err)
	}
	return text == "true", nil
}
