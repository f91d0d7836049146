package grant

import (
	"strconv"
	"strings"
)

// Op is an operation on a path.
type Op uint8

// Operations that a line can grant.
const (
	Read Op = iota
	Write
)

// String returns "read" or "write".
func (o Op) String() string {
	if o == Write {
		return "write"
	}
	return "read"
}

func fsForm() lineForm {
	f := lineForm{family: FS, example: "fs: read ~/work/**", deniable: true}
	f.options = map[string]lineOption{
		"ask":    askOption(),
		"files":  option((*fsRule).readFiles, (*fsRule).writeFiles),
		"for":    forOption(),
		"mode":   option((*fsRule).readMode, (*fsRule).writeMode),
		"quota":  sizeOption(func(r *fsRule) *int64 { return &r.quota }),
		"within": option((*fsRule).readWithin, (*fsRule).writeWithin),
	}
	f.parse = func(n Node) (rule, error) {
		if err := f.oneText(n); err != nil {
			return nil, err
		}
		r, err := parseFS(n.Value, n.Line)
		return &r, err
	}
	return f
}

// fsRule is the value of an fs line. It implements all interfaces of rule.go, and reads and writes its own notation and
// options, hence its many methods.
type fsRule struct {
	op     Op
	home   bool     // the pattern begins with ~
	base   base     // start of the pattern, until it is filled in; empty for / and ~
	folder int      // number of path segments that replaced {workspace} or {roots}
	within []fsRule // of {roots}: the folders to which the client's folders are limited
	path   pattern  // below the root or the home
	folded pattern  // path in lower case
	direct bool     // written in place
	quota  int64    // maximum bytes that one call may write; 0 is no limit
	files  int      // maximum number of files; 0 is no limit
}

func (r *fsRule) value() string { return r.String() }

func (r *fsRule) limit(l *Limits, first bool) {
	if first {
		l.Direct, l.Quota, l.Files = r.direct, r.quota, r.files
	}
}

func (r *fsRule) bounded() bool { return r.quota > 0 || r.files > 0 }

// check finds options that do not fit the path.
func (r *fsRule) check(line int) error {
	switch {
	case r.base == roots && len(r.within) == 0:
		return failf(line, "{roots} come from the client: write within: [~/work], the folders that they are cut to")
	case r.base != roots && len(r.within) > 0:
		return failf(line, "within is for a line with {roots}: remove it")
	}
	return nil
}

// base is a folder that is not known when the line is parsed.
type base string

const (
	workspace base = "{workspace}" // set by the operator
	roots     base = "{roots}"     // the client's folders
)

// parseFS reads "read PATTERN", "write PATTERN" or "read,write PATTERN".
func parseFS(text string, line int) (r fsRule, err error) {
	ops, name, found := strings.Cut(text, " ")
	if !found {
		return r, failf(line, "fs needs an operation and a path: write such as %q", example(FS))
	}
	for op := range strings.SplitSeq(ops, ",") {
		switch op {
		case "read":
		case "write":
			r.op = Write
		default:
			return r, failf(line, "unknown fs operation %q: write read or write", op)
		}
	}
	name = strings.TrimSpace(name)
	rest, err := r.parseRoot(name, line)
	if err != nil {
		return r, err
	}
	err = r.parsePath(rest, line)
	return r, err
}

// parseRoot removes the root of the pattern, and converts the separators of a Windows path.
func (r *fsRule) parseRoot(name string, line int) (string, error) {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		r.home = true
		return name[1:], nil
	case strings.HasPrefix(name, string(workspace)) || strings.HasPrefix(name, string(roots)):
		word, rest, _ := strings.Cut(name, "}")
		r.base = base(word + "}")
		if rest != "" && rest[0] != '/' {
			return "", failf(line, "a slash is missing after %s", r.base)
		}
		return rest, nil
	case strings.HasPrefix(name, "{") && !isEscape(name):
		if isBinding(name) {
			return "", failf(line, "a path begins with / or ~/ or {workspace} or {roots}, not with a value of the call")
		}
		return "", unknownBinding(name, line)
	case isDrive(name):
		return strings.ReplaceAll(name, `\`, "/"), nil
	case strings.HasPrefix(name, "/"):
		return name, nil
	}
	return "", failf(line, "path %q begins neither with / nor with ~/: write the whole path", name)
}

// isDrive reports whether a path begins with a Windows drive.
func isDrive(name string) bool {
	return len(name) >= 3 && name[1] == ':' && (name[2] == '/' || name[2] == '\\') &&
		(name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

func (r *fsRule) parsePath(name string, line int) error {
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			return failf(line, "a path holds no ..: write the folder that is meant")
		}
		s, err := parsePathSegment(part, line)
		if err != nil {
			return err
		}
		if r.path = append(r.path, s); len(r.path) > maxSegments {
			return failf(line, "the path has more than %d segments", maxSegments)
		}
	}
	if len(r.path) > 0 && (r.path[0].bind != nil) && !r.home && r.base == "" {
		return failf(line, "a path does not begin with a value of the call: write the folder that it lies in")
	}
	r.folded = r.path.fold()
	return nil
}

// isEscape reports whether s begins with an escaped character in braces.
func isEscape(s string) bool {
	return len(s) >= 3 && s[0] == '{' && s[2] == '}' && strings.IndexByte("*{} ", s[1]) >= 0
}

// parsePathSegment reads a segment: stars are wildcards, escapes are literal.
func parsePathSegment(text string, line int) (segment, error) {
	if text == "**" {
		return segment{any: true}, nil
	}
	if isBinding(text) {
		return parseBoundSegment(text, line, oneStep, subPath)
	}
	g := glob{""}
	for rest := text; rest != ""; {
		n := 1
		switch {
		case isEscape(rest):
			g[len(g)-1] += rest[1:2]
			n = 3
		case rest[0] == '{':
			return segment{}, notAlone(rest, line)
		case rest[0] == '}':
			return segment{}, failf(line, "a lone } in %q: write {}}", text)
		case strings.HasPrefix(rest, "**"):
			return segment{}, failf(line, "** stands alone between slashes")
		case rest[0] == '*':
			g = append(g, "")
		default:
			g[len(g)-1] += rest[:1]
		}
		rest = rest[n:]
	}
	return segment{glob: g}, nil
}

// parseBoundSegment reads a segment that is a binding.
func parseBoundSegment(text string, line int, forms ...form) (segment, error) {
	if text == "{plugin}" {
		return segment{plugin: true, glob: glob{text}}, nil
	}
	b, rest, err := parseBinding(text, line, forms...)
	if err == nil && rest != "" {
		err = notAlone(text, line)
	}
	return segment{bind: b, glob: glob{""}}, err
}

// notAlone is the error for a binding that is not a whole segment.
func notAlone(text string, line int) error {
	if !isBinding(text) {
		return unknownBinding(text, line)
	}
	end := strings.IndexByte(text, '}')
	if end < 0 {
		return failf(line, "%s has no }: write such as {args.owner}", text)
	}
	return failf(line, "%s stands alone between slashes or dots: a value fills the whole step", text[:end+1])
}

func escapePath(s string) string {
	return strings.NewReplacer("*", "{*}", "{", "{{}", "}", "{}}").Replace(s)
}

// String returns the rule in the form that parseFS reads.
func (r *fsRule) String() string {
	var b strings.Builder
	b.WriteString(r.op.String() + " ")
	if r.home {
		b.WriteString("~")
	}
	b.WriteString(string(r.base))
	for i, s := range r.path {
		if i > 0 || r.home || r.base != "" || !s.isDrive() {
			b.WriteString("/")
		}
		b.WriteString(s.format(escapePath))
	}
	if len(r.path) == 0 && !r.home && r.base == "" || len(r.path) == 1 && !r.home && r.path[0].isDrive() {
		b.WriteString("/")
	}
	if text, found := strings.CutSuffix(b.String(), " "); found {
		return text + "{ }" // a line loses its trailing blanks
	}
	return b.String()
}

func (s segment) isDrive() bool {
	return !s.any && s.bind == nil && s.glob.literal() && len(s.glob[0]) == 2 && isDrive(s.glob[0]+"/")
}

func (r *fsRule) readWithin(n Node) error {
	return placeTexts(n, func(e Node) error {
		w, err := parseFS("read "+e.Value+"/**", e.Line)
		r.within = append(r.within, w)
		return err
	})
}

func (r *fsRule) writeWithin() string {
	var words []string
	for _, w := range r.within {
		words = append(words, strings.TrimSuffix(strings.TrimPrefix(w.String(), "read "), "/**"))
	}
	return listed(words)
}

func (r *fsRule) readMode(n Node) error {
	if n.Kind != Scalar || n.Value != "direct" || r.op != Write {
		return failf(n.Line, `mode is "direct", of a line that allows to write`)
	}
	r.direct = true
	return nil
}

func (r *fsRule) writeMode() string {
	if r.direct {
		return "direct"
	}
	return ""
}

func (r *fsRule) readFiles(n Node) (err error) {
	r.files, err = parseCount(n)
	return err
}

func (r *fsRule) writeFiles() string {
	if r.files == 0 {
		return ""
	}
	return strconv.Itoa(r.files)
}
