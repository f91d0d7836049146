package grant

import (
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

// glob is the text of one segment or label: literal pieces with a star between each two.
type glob []string

func (g glob) literal() bool { return len(g) == 1 }

// match reports whether s matches. A lone star needs at least one character.
func (g glob) match(s string) bool {
	first, last := g[0], g[len(g)-1]
	if g.literal() {
		return s == first
	}
	if len(g) == 2 && first == "" && last == "" {
		return s != ""
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, piece := range g[1 : len(g)-1] {
		_, rest, found := strings.Cut(s, piece)
		if !found {
			return false
		}
		s = rest
	}
	return true
}

func (g glob) bones() glob {
	out := make(glob, len(g))
	for i, piece := range g {
		out[i] = urlnorm.Skeleton(piece)
	}
	return out
}

// meets is match for skeletons.
func (g glob) meets(s string) bool {
	return (!isStar(g) || s != "") && urlnorm.Meets(urlnorm.Any(g...), s)
}

// segment is one step of a pattern: a glob, or any number of steps.
type segment struct {
	any   bool // **
	glob  glob
	bind  *binding // filled by the call; nil if there is no binding
	bound bool     // filled by the call, so not literal in the line

	plugin bool // replaced by the plugin's name
}

// pattern is a sequence of segments of a path, or of labels of a host.
type pattern []segment

func (p pattern) literal() bool { return p.prefix() == len(p) }

// spelled reports whether every segment is literal in the line, and no value of the call.
func (p pattern) spelled() bool {
	return p.literal() && !slices.ContainsFunc(p, func(s segment) bool { return s.bound })
}

// spells is match for the labels of a host, if every segment is literal. It does not allocate.
func (p pattern) spells(host string) bool {
	for i, s := range p {
		if i > 0 {
			if host == "" || host[0] != '.' {
				return false
			}
			host = host[1:]
		}
		rest, ok := strings.CutPrefix(host, s.glob[0])
		if !ok {
			return false
		}
		host = rest
	}
	return len(p) > 0 && host == ""
}

// prefix returns the number of literal segments at the beginning.
func (p pattern) prefix() int {
	for i, s := range p {
		if s.any || s.bind != nil || s.plugin || !s.glob.literal() {
			return i
		}
	}
	return len(p)
}

// spelledPrefix returns the number of literal segments at the beginning that are no values of a call.
func (p pattern) spelledPrefix() int {
	n := p.prefix()
	if i := slices.IndexFunc(p[:n], func(s segment) bool { return s.bound }); i >= 0 {
		return i
	}
	return n
}

// need is the precision that a segment of the subject demands of a pattern.
type need uint8

const (
	needNothing need = iota
	needNoStar       // matched by ** but not by *
	needLiteral      // matched only by its literal text
)

// subject is the sequence that a pattern is compared with.
type subject struct {
	steps []string
	needs []need // as long as steps, or nil
	bones bool   // the steps and the pattern are skeletons of addresses
}

func (t subject) need(i int) need {
	if t.needs == nil {
		return needNothing
	}
	return t.needs[i]
}

// fits reports whether the segment s matches step i alone.
func (t subject) fits(s segment, i int) bool {
	if s.bind != nil || s.plugin || !s.glob.literal() && t.need(i) != needNothing || s.bound && t.need(i) == needLiteral {
		return false
	}
	if t.bones {
		return s.glob.meets(t.steps[i])
	}
	return s.glob.match(t.steps[i])
}

// fold returns the pattern in lower case, for case-insensitive comparison.
func (p pattern) fold() pattern {
	folded := make(pattern, len(p))
	for i, s := range p {
		folded[i] = segment{any: s.any, bind: s.bind, bound: s.bound, plugin: s.plugin, glob: make(glob, len(s.glob))}
		for j, piece := range s.glob {
			folded[i].glob[j] = foldName(piece)
		}
	}
	return folded
}

// bones returns the pattern of skeletons, for addresses that a server may misread.
func (p pattern) bones() pattern {
	out := make(pattern, len(p))
	for i, s := range p {
		out[i] = s
		out[i].glob = s.glob.bones()
	}
	return out
}

// match reports whether p matches the whole subject. Time and memory are at most proportional to segments × steps.
func (p pattern) match(t subject) bool { return p.reach(t)[len(t.steps)] }

// matchAbove reports whether p matches the subject or a folder above it.
func (p pattern) matchAbove(t subject) bool { return slices.Contains(p.reach(t), true) }

// reach returns for each n whether p matches the first n steps of the subject.
func (p pattern) reach(t subject) []bool {
	reach := make([]bool, len(t.steps)+1) // reach[i]: the segments so far match steps[:i]
	reach[0] = true
	t.skip(reach)
	for _, s := range p {
		t.advance(s, reach)
		t.skip(reach)
	}
	return reach
}

// skip passes steps of a skeleton that may be empty.
func (t subject) skip(reach []bool) {
	for i, s := range t.steps {
		reach[i+1] = reach[i+1] || t.bones && reach[i] && s != "" && urlnorm.Meets("", s)
	}
}

func (t subject) advance(s segment, reach []bool) {
	if s.any {
		for i := range t.steps {
			reach[i+1] = reach[i+1] || (reach[i] && t.need(i) != needLiteral)
		}
		return
	}
	for i := len(t.steps); i > 0; i-- {
		reach[i] = reach[i-1] && t.fits(s, i-1)
	}
	reach[0] = false
}

// within reports whether p may match the subject or a path below it.
func (p pattern) within(t subject) bool {
	reach := make([]bool, len(t.steps)+1)
	reach[0] = true
	end := len(t.steps)
	for _, s := range p {
		if reach[end] {
			return true
		}
		t.advance(s, reach)
	}
	return reach[end]
}

// beneath reports whether p may match a path below the subject.
func (p pattern) beneath(t subject) bool {
	reach := make([]bool, len(t.steps)+1)
	reach[0] = true
	end := len(t.steps)
	for _, s := range p {
		if reach[end] {
			return true
		}
		if t.advance(s, reach); s.any && reach[end] {
			return true
		}
	}
	return false
}

// splitStars splits text at its stars.
func splitStars(text string) glob { return strings.Split(text, "*") }

// literals returns the pattern that matches only these steps.
func literals(steps []string) pattern {
	p := make(pattern, len(steps))
	for i, s := range steps {
		p[i] = segment{glob: glob{s}}
	}
	return p
}
