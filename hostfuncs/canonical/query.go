package canonical

import (
	"slices"
	"strings"
)

// Param is a parameter of a query in one way in which a server may read it.
type Param struct {
	Any    bool     // the name holds a character of which servers make different things, and so may be any
	Method bool     // frameworks take its value for the method of the request
	Names  []string // that it may have, as Name writes them
	Values []string // skeletons of what it may hold
}

// Params are the parameters of a request in all the ways of Meanings, with & and ; between them, and those that stand
// behind a hidden ? or a ; in its path. Path and query are escaped and canonical.
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
	for _, text := range append(Meanings(query), query) {
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
	for _, k := range Meanings(key) {
		of := names(Skeleton(k))
		p.Names, p.Method = append(p.Names, of...), p.Method || isMethod(Skeleton(k), of)
	}
	for _, v := range Meanings(value) {
		v = strings.TrimSpace(Skeleton(v))
		p.Values = append(append(p.Values, v), strings.Split(v, ",")...)
	}
	return p
}

// Takes reports whether frameworks take the value of a parameter with this name for the method of the request.
func Takes(name string) bool { return isMethod(Skeleton(name), names(Skeleton(name))) }

// isMethod reports whether a name, with what it may be, is one by which frameworks let a form ask for another method:
// _method, and the fields of requests for that.
func isMethod(skeleton string, names []string) bool {
	first := strings.TrimLeft(skeleton, " "+marks)
	return slices.ContainsFunc(names, func(name string) bool {
		return first != "" && strings.Contains("_.[-$", first[:1]) && Meets("method", name) ||
			slices.ContainsFunc([]string{"httpmethod", "xhttpmethod", "methodoverride", "xmethodoverride", "httpmethodoverride", "xhttpmethodoverride"}, func(known string) bool { return Meets(known, name) })
	})
}

// Name is the one spelling of a parameter's name, without what some servers take for an underscore or for nothing.
func Name(name string) string { return strings.Join(parts(Skeleton(name)), "") }

// names are what a name may be: with each part that a server may take for a place in it, or without: id[0], id.x, id:list.
func names(skeleton string) []string {
	var all []string
	name := ""
	for _, part := range parts(skeleton) {
		name += part
		all = append(all, name)
	}
	return all
}

// parts cuts a name at what separates places, and leaves out what binds words.
func parts(skeleton string) []string {
	bare := strings.NewReplacer("-", "", "_", "", " ", "").Replace(skeleton)
	return slices.Collect(strings.FieldsFuncSeq(bare, func(c rune) bool {
		return c < 0x80 && c != anything && c != atMost1 && (c < '0' || c > '9') && (c < 'a' || c > 'z')
	}))
}
