package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/plugins/internal/granted"
)

const (
	// maxSearched bounds a file that is searched. Larger ones are data rather than text.
	maxSearched = 4 << 20
	// maxLine bounds the part of a matching line that is shown.
	maxLine = 300
)

type searchArgs struct {
	Path       string `json:"path,omitempty" doc:"the file or folder to search; the granted folder if absent"`
	Pattern    string `json:"pattern,omitempty" doc:"regular expression (RE2) that a line must match; without it file names are listed"`
	Literal    bool   `json:"literal,omitempty" doc:"the pattern is plain text"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Files      string `json:"files,omitempty" doc:"pattern of file names: *.go, or src/**/*.ts from the path down"`
	Context    int    `json:"context,omitempty" doc:"lines to show before and after each match" minimum:"0" maximum:"10"`
	Hidden     bool   `json:"hidden,omitempty" doc:"names that begin with a dot too"`
	Max        int    `json:"max" doc:"how many matches to show" minimum:"1" maximum:"1000" default:"100"`
}

func search(_ *sallyport.Call, a searchArgs) (string, error) {
	if a.Pattern == "" && a.Files == "" {
		return "", errors.New("give a pattern to search for, or files to look for, or both")
	}
	expr := a.Pattern
	if a.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return "", fmt.Errorf("pattern: %w; set literal to search for plain text", err)
	}
	root, err := granted.Clean(a.Path)
	if err != nil {
		return "", err
	}
	s := searcher{args: a, root: root, re: re}
	if _, err := os.Stat(s.root); err != nil || granted.Nothing() {
		return "", granted.Explain(s.root, errors.Join(fs.ErrNotExist, err))
	}
	if err := filepath.WalkDir(s.root, s.visit); err != nil {
		return "", granted.Explain(s.root, err)
	}
	return s.text(), nil
}

type searcher struct {
	args    searchArgs
	root    string
	re      *regexp.Regexp
	out     strings.Builder
	matches int
	files   int
	large   int
	full    bool
}

func (s *searcher) visit(p string, d fs.DirEntry, err error) error {
	switch {
	case p == s.root && err != nil:
		return err
	case err != nil: // a folder that cannot be opened has no matches
		return nil
	case p != s.root && !s.args.Hidden && strings.HasPrefix(d.Name(), "."):
		return skip(d)
	case d.IsDir() || !d.Type().IsRegular():
		return nil
	}
	rel, err := filepath.Rel(s.root, p)
	if err != nil {
		return err
	}
	if rel == "." {
		rel = filepath.Base(p)
	}
	if s.args.Files != "" && !matchGlob(s.args.Files, rel) {
		return nil
	}
	s.file(p, rel)
	if s.full {
		return fs.SkipAll
	}
	return nil
}

// file searches one file.
func (s *searcher) file(p, rel string) {
	if s.args.Pattern == "" {
		s.add(rel + "\n")
		s.files++
		return
	}
	if info, err := os.Stat(p); err != nil || info.Size() > maxSearched {
		s.large++
		return
	}
	data, err := os.ReadFile(p)
	if err != nil || bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return
	}
	before := s.matches
	s.lines(rel, data)
	if s.matches > before {
		s.files++
	}
}

// lines searches the lines of a file. Output is path:12:text for a match, and path-13-text for a context line.
func (s *searcher) lines(rel string, data []byte) {
	var lines []string
	var hits []int
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, maxSearched+1)
	for sc.Scan() {
		if s.re.Match(sc.Bytes()) {
			hits = append(hits, len(lines))
		}
		lines = append(lines, sc.Text())
	}
	shown := -1
	for i, hit := range hits {
		if s.full {
			return
		}
		last := min(hit+s.args.Context, len(lines)-1)
		if i+1 < len(hits) { // the next match shows its own context
			last = min(last, hits[i+1]-1)
		}
		s.hit(rel, lines, max(hit-s.args.Context, shown+1, 0), hit, last)
		shown = last
	}
}

func (s *searcher) hit(rel string, lines []string, first, hit, last int) {
	var b strings.Builder
	for i := first; i <= last; i++ {
		mark := "-"
		if i == hit {
			mark = ":"
		}
		fmt.Fprintf(&b, "%s%s%d%s%s\n", rel, mark, i+1, mark, shorten(lines[i]))
	}
	s.add(b.String())
}

// add writes a match unless the limit is reached.
func (s *searcher) add(text string) {
	if s.matches == s.args.Max || s.out.Len()+len(text) > maxShown {
		s.full = true
		return
	}
	s.matches++
	s.out.WriteString(text)
}

func (s *searcher) text() string {
	if s.matches == 0 {
		return "no match in " + s.root + s.skipped()
	}
	what := "matches"
	if s.args.Pattern == "" {
		what = "files"
	}
	foot := fmt.Sprintf("(%d %s in %s%s)", s.matches, what, s.root, s.skipped())
	if s.full {
		foot = fmt.Sprintf("(the first %d %s in %s; there are more%s)", s.matches, what, s.root, s.skipped())
	}
	return s.out.String() + foot
}

func (s *searcher) skipped() string {
	if s.large == 0 {
		return ""
	}
	return fmt.Sprintf("; %d files over %d MiB were not searched", s.large, maxSearched>>20)
}

func shorten(line string) string {
	if len(line) <= maxLine {
		return strings.ToValidUTF8(line, "\uFFFD")
	}
	return strings.ToValidUTF8(line[:maxLine], "") + "…"
}

// matchGlob matches a path with a pattern in which ** stands for any number of folders. A pattern without a slash
// matches the file name only.
func matchGlob(pattern, rel string) bool {
	if !strings.Contains(pattern, "/") {
		ok, _ := path.Match(pattern, path.Base(rel)) // an invalid pattern matches nothing
		return ok
	}
	return matchSegments(strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(rel, "/"))
}

func matchSegments(pattern, segments []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(segments) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], segments[0]); !ok {
			return false
		}
		pattern, segments = pattern[1:], segments[1:]
	}
	if len(pattern) == 0 {
		return len(segments) == 0
	}
	for i := range len(segments) + 1 {
		if matchSegments(pattern[1:], segments[i:]) {
			return true
		}
	}
	return false
}
