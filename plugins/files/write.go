package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/plugins/internal/granted"
)

type writeArgs struct {
	Path string `json:"path" doc:"the file" minLength:"1"`
	Text string `json:"text" doc:"what to write"`
	Mode string `json:"mode" doc:"create fails if the file is there; overwrite replaces it; append adds to it" enum:"create,overwrite,append" default:"create"`
}

func write(_ *sallyport.Call, a writeArgs) (string, error) {
	path, err := granted.Clean(a.Path)
	if err != nil {
		return "", err
	}
	flags := os.O_WRONLY | os.O_CREATE
	switch a.Mode {
	case "overwrite":
		flags |= os.O_TRUNC
	case "append":
		flags |= os.O_APPEND
	default:
		flags |= os.O_EXCL
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", granted.Explain(path, err)
	}
	err = save(path, flags, a.Text)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s is there already; use mode overwrite or append, or the edit tool", path)
	}
	if err != nil {
		return "", granted.Explain(path, err)
	}
	unit := "bytes"
	if len(a.Text) == 1 {
		unit = "byte"
	}
	return fmt.Sprintf("wrote %d %s to %s", len(a.Text), unit, path), nil
}

func save(path string, flags int, text string) error {
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

type editArgs struct {
	Path   string       `json:"path" doc:"the file" minLength:"1"`
	Edits  []textChange `json:"edits" doc:"one after the other, each on the result of those before" minItems:"1" maxItems:"100"`
	DryRun bool         `json:"dryRun,omitempty" doc:"only show what would change"`
}

type textChange struct {
	Old string `json:"old" doc:"the text to replace, exactly as it is in the file" minLength:"1"`
	New string `json:"new" doc:"the text to put in its place"`
	All bool   `json:"all,omitempty" doc:"replace every occurrence"`
}

// edit returns the changes as hunks of a diff.
func edit(_ *sallyport.Call, a editArgs) (string, error) {
	path, err := granted.Clean(a.Path)
	if err != nil {
		return "", err
	}
	data, err := load(path)
	if err != nil {
		return "", err
	}
	if !isText(data) {
		return "", errors.New(path + " is not a text")
	}
	text, hunks := string(data), []string{}
	for i, e := range a.Edits {
		var hunk string
		if text, hunk, err = e.apply(text); err != nil {
			return "", fmt.Errorf("%s: edit %d: %w; nothing was written", path, i+1, err)
		}
		hunks = append(hunks, hunk)
	}
	if !a.DryRun {
		if err := save(path, os.O_WRONLY|os.O_TRUNC, text); err != nil {
			return "", granted.Explain(path, err)
		}
	}
	return path + "\n" + strings.Join(hunks, ""), nil
}

// apply makes one change and returns its diff hunk. Models write LF line ends for every file: they match both kinds,
// and the replacement gets the kind of its place. Old text that contains carriage returns is matched exactly.
func (e textChange) apply(text string) (result, hunk string, err error) {
	places := find(text, e.Old)
	switch n := len(places); {
	case n == 0:
		return "", "", fmt.Errorf("the old text is not in the file%s", almost(text, e.Old))
	case n > 1 && !e.All:
		return "", "", fmt.Errorf("the old text is in the file %d times, at lines %s; give more of it, or set all", n, lineList(text, places))
	}
	var b strings.Builder
	at := 0
	for i, p := range places {
		replacement := e.New
		if !strings.Contains(e.Old, "\r") && endsInCRLF(text, p) {
			replacement = strings.ReplaceAll(strings.ReplaceAll(e.New, "\r\n", "\n"), "\n", "\r\n")
		}
		if i == 0 {
			hunk = show(text, p, replacement, len(places))
		}
		b.WriteString(text[at:p.from])
		b.WriteString(replacement)
		at = p.to
	}
	b.WriteString(text[at:])
	return b.String(), hunk, nil
}

// place is a range of a text, in bytes.
type place struct{ from, to int }

// find returns the non-overlapping places of old in a text. Each of its line ends matches either kind.
func find(text, old string) []place {
	var found []place
	head, _, _ := strings.Cut(old, "\n")
	for at := 0; at <= len(text); {
		i := strings.Index(text[at:], head)
		if i < 0 {
			break
		}
		if to := match(text, at+i, old); to >= 0 {
			found = append(found, place{at + i, to})
			at = to
		} else {
			at += i + 1
		}
	}
	return found
}

// match returns the end of old if it occurs at i, else -1.
func match(text string, i int, old string) int {
	for {
		line, rest, more := strings.Cut(old, "\n")
		if !strings.HasPrefix(text[i:], line) {
			return -1
		}
		i += len(line)
		if !more {
			return i
		}
		if !strings.HasSuffix(line, "\r") && strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		if !strings.HasPrefix(text[i:], "\n") {
			return -1
		}
		i, old = i+1, rest
	}
}

// endsInCRLF reports whether the first line end in a place, or else after it, or else before it, is CRLF.
func endsInCRLF(text string, p place) bool {
	if i := strings.IndexByte(text[p.from:], '\n'); i >= 0 {
		return p.from+i > 0 && text[p.from+i-1] == '\r'
	}
	i := strings.LastIndexByte(text[:p.from], '\n')
	return i > 0 && text[i-1] == '\r'
}

// almost returns a hint if only white space differs.
func almost(text, old string) string {
	if squeezed := squeeze(old); squeezed != "" && strings.Contains(squeeze(text), squeezed) {
		return "; it would fit if white space did not matter, so read the file again"
	}
	return ""
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxLineList bounds the line numbers in an error.
const maxLineList = 10

func lineList(text string, places []place) string {
	var lines []string
	for _, p := range places[:min(len(places), maxLineList)] {
		lines = append(lines, fmt.Sprint(1+strings.Count(text[:p.from], "\n")))
	}
	if len(places) > maxLineList {
		lines = append(lines, "…")
	}
	return strings.Join(lines, ", ")
}

// show returns a change as a diff hunk of the whole lines that it touches. Of n places it shows the first.
func show(text string, p place, replacement string, n int) string {
	from := strings.LastIndexByte(text[:p.from], '\n') + 1
	to := len(text)
	if end := strings.IndexByte(text[p.to:], '\n'); end >= 0 {
		to = p.to + end
	}
	var b strings.Builder
	fmt.Fprintf(&b, "@@ line %d", 1+strings.Count(text[:p.from], "\n"))
	if n > 1 {
		fmt.Fprintf(&b, " and %d more", n-1)
	}
	b.WriteString(" @@\n")
	prefix(&b, "-", text[from:to])
	prefix(&b, "+", text[from:p.from]+replacement+text[p.to:to])
	return b.String()
}

func prefix(b *strings.Builder, sign, lines string) {
	for l := range strings.Lines(lines) {
		b.WriteString(sign + strings.TrimRight(l, "\r\n") + "\n")
	}
}
