package urlnorm

import (
	"slices"
	"strings"
)

// Param is a query parameter in one of the ways in which a server may parse it.
type Param struct {
	Any    bool     // the name has a character that servers treat differently, and so may be any name
	Method bool     // frameworks use its value as the request method
	Names  []string // its possible names, in the form of Name
	Values []string // skeletons of its possible values
}

// Params returns the parameters of a request under every reading in meanings, with & and ; as separators, including
// those behind a hidden ? or a ; in its path. Path and query are escaped and canonical.
func Params(path, query string) []Param {
	var all []Param
	seen := map[string]bool{}
	add := func(text string) {
		for pair := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("&;?#", c) }) {
			if !seen[pair] {
				seen[pair] = true
				all = append(all, paramOf(pair))
			}
		}
	}
	for _, text := range append(meanings(query), query) {
		add(text)
	}
	for _, text := range decodings(path) {
		if i := strings.IndexAny(text, "?;"); i >= 0 {
			add(text[i:])
		}
	}
	return all
}

func paramOf(pair string) Param {
	key, value, _ := strings.Cut(pair, "=")
	p := Param{Any: Unclear(key) != ""}
	for _, k := range meanings(key) {
		of := names(Skeleton(k))
		p.Names, p.Method = append(p.Names, of...), p.Method || isMethod(Skeleton(k), of)
	}
	for _, v := range meanings(value) {
		v = strings.TrimSpace(Skeleton(v))
		p.Values = append(append(p.Values, v), strings.Split(v, ",")...)
	}
	return p
}

// Takes reports whether frameworks use the value of a parameter with this name as the request method.
func Takes(name string) bool { return isMethod(Skeleton(name), names(Skeleton(name))) }

// isMethod reports whether a name is one by which frameworks let a form override the method: _method, and the form
// fields of method-override headers.
func isMethod(skeleton string, names []string) bool {
	first := strings.TrimLeft(skeleton, " "+marks)
	return slices.ContainsFunc(names, func(name string) bool {
		return first != "" && strings.Contains("_.[-$", first[:1]) && Meets("method", name) ||
			slices.ContainsFunc([]string{"httpmethod", "xhttpmethod", "methodoverride", "xmethodoverride", "httpmethodoverride", "xhttpmethodoverride"}, func(known string) bool { return Meets(known, name) })
	})
}

// Name returns the canonical spelling of a parameter's name, without the characters that some servers drop or read as
// an underscore.
func Name(name string) string { return strings.Join(parts(Skeleton(name)), "") }

// names returns the possible forms of a name, with and without each part that a server may parse as an index: id[0],
// id.x, id:list.
func names(skeleton string) []string {
	var all []string
	name := ""
	for _, part := range parts(skeleton) {
		name += part
		all = append(all, name)
	}
	return all
}

// parts splits a name at index separators, and drops word separators.
func parts(skeleton string) []string {
	bare := strings.NewReplacer("-", "", "_", "", " ", "").Replace(skeleton)
	return slices.Collect(strings.FieldsFuncSeq(bare, func(c rune) bool {
		return c < 0x80 && c != anything && c != atMost1 && (c < '0' || c > '9') && (c < 'a' || c > 'z')
	}))
}
