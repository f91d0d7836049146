// Package foreign reads the configurations of other hosts of WebAssembly plugins: the sources of the plugins, and the
// grants and settings that equal theirs. It fetches nothing and writes nothing.
//
// A setting without an equivalent is a remark. A plugin that would publish more than before, or whose settings cannot be
// read, has an error, and must not be installed.
package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

const (
	// maxPlugins limits the plugins of one configuration: each one is fetched, and asks the operator.
	maxPlugins = 256
	// maxGrants limits the lines of one plugin, each of which the operator reads, as wants are limited.
	maxGrants = 256
	// maxName limits a name, in bytes: twice that of a tool.
	maxName = 128
)

// Remark is a difference between a configuration and its equivalent here.
type Remark struct {
	Line int // in the configuration
	Text string
}

// Grant is a grant line that equals a permission of the other host, or is narrower.
type Grant struct {
	Line string
	Why  string // the permission, and how the line is narrower
}

// Offer lists the names a plugin publishes; resources and templates have name and URI.
type Offer struct {
	Tools, Prompts       []string
	Resources, Templates [][2]string
}

// Plugin is a plugin of another host.
type Plugin struct {
	Name    string // in its configuration; not always one that is valid here
	Line    int    // of the configuration
	Source  string // a reference for source.Parse
	Signer  Signer // that the other host required; the zero value is none
	Memory  string // for limits.memory; "" is none
	Grants  []Grant
	Remarks []Remark
	File    string // of the remarks, if it is not that of the configuration
	Err     error  // says why it cannot be installed; nil if it can

	where string // its key in remarks
	skips []skip
}

// Signer is an identity of sigstore.
type Signer struct{ Issuer, Identity string }

func (p *Plugin) remark(n grant.Node, format string, args ...any) {
	p.Remarks = append(p.Remarks, Remark{n.Line, fmt.Sprintf(format, args...)})
}

// fail keeps the first reason why the plugin cannot be installed.
func (p *Plugin) fail(n grant.Node, format string, args ...any) {
	if p.Err == nil {
		p.Err = &grant.ParseError{Line: n.Line, Message: fmt.Sprintf(format, args...)}
	}
}

// allow adds a grant line.
func (p *Plugin) allow(line, why string, args ...any) {
	p.Grants = append(p.Grants, Grant{line, fmt.Sprintf(why, args...)})
}

// member returns the value of a key in a map; its Line is 0 if there is none.
func member(n grant.Node, key string) grant.Node {
	for _, m := range n.Nodes {
		if m.Key == key {
			return m
		}
	}
	return grant.Node{}
}

// texts returns the scalars of a list; null is empty.
func (p *Plugin) texts(n grant.Node, where string) []grant.Node {
	if n.Kind == grant.List {
		return slices.DeleteFunc(slices.Clone(n.Nodes), func(e grant.Node) bool {
			if e.Kind != grant.Scalar {
				p.remark(e, "%s: not a text, not carried over", where)
			}
			return e.Kind != grant.Scalar
		})
	}
	if !null(n) {
		p.remark(n, "%s: not a list, not carried over", where)
	}
	return nil
}

func null(n grant.Node) bool {
	return n.Kind == grant.Scalar && (n.Null || n.Value == "")
}

// sizes matches a limit of memory: 512Mi, 256MB, 1.5GiB.
var sizes = regexp.MustCompile(`(?i)^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?\s*$`)

// limit reads a limit of memory.
func (p *Plugin) limit(n grant.Node, where string) {
	if null(n) {
		return
	}
	m := sizes.FindStringSubmatch(n.Value)
	if m == nil {
		p.remark(n, "%s: %.80q is not a size, not carried over: 64MiB hold", where, n.Value)
		return
	}
	number, _ := strconv.ParseFloat(m[1], 64)
	step := 1000.0
	if m[3] != "" {
		step = 1024
	}
	for range strings.Index(" kmgt", strings.ToLower(cmp.Or(m[2], " "))) {
		number *= step
	}
	const most = 4 << 30
	if number > most {
		p.remark(n, "%s: narrowed to 4GiB, which is all that a module can address", where)
		number = most
	}
	p.Memory = strconv.FormatInt(max(int64(number), 1), 10) + "B"
	if bytes := int64(number); bytes >= 1<<20 && bytes%(1<<20) == 0 {
		p.Memory = strconv.FormatInt(bytes>>20, 10) + "MiB"
	}
}
