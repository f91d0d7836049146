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
	return fmt.Sprintf("wrote %d bytes to %s", len(a.Text), path), nil
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

// edit returns what changed, as hunks of a diff.
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

// apply makes one change and shows it.
func (e textChange) apply(text string) (result, hunk string, err error) {
	old, replacement := e.Old, e.New
	if strings.Contains(text, "\r\n") && !strings.Contains(old, "\r\n") { // a model writes plain line ends
		old = strings.ReplaceAll(old, "\n", "\r\n")
		replacement = strings.ReplaceAll(replacement, "\n", "\r\n")
	}
	n := strings.Count(text, old)
	switch {
	case n == 0:
		return "", "", fmt.Errorf("the old text is not in the file%s", almost(text, old))
	case n > 1 && !e.All:
		return "", "", fmt.Errorf("the old text is in the file %d times, at lines %s; give more of it, or set all", n, lineList(text, old))
	}
	hunk = show(text, old, replacement, n)
	return strings.ReplaceAll(text, old, replacement), hunk, nil
}

// almost says if only white space differs.
func almost(text, old string) string {
	if squeezed := squeeze(old); squeezed != "" && strings.Contains(squeeze(text), squeezed) {
		return "; it would fit if white space did not matter, so read the file again"
	}
	return ""
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxLineList is how many line numbers an error lists.
const maxLineList = 10

func lineList(text, old string) string {
	var lines []string
	at := 0
	for len(lines) < maxLineList {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		lines = append(lines, fmt.Sprint(1+strings.Count(text[:at+i], "\n")))
		at += i + len(old)
	}
	return strings.Join(lines, ", ") + ", …"
}

// show is a change as a hunk of a diff: the whole lines that it touches. Of n places it shows the first.
func show(text, old, replacement string, n int) string {
	i := strings.Index(text, old)
	from := strings.LastIndexByte(text[:i], '\n') + 1
	to := len(text)
	if end := strings.IndexByte(text[i+len(old):], '\n'); end >= 0 {
		to = i + len(old) + end
	}
	before, after := text[from:i], text[i+len(old):to]
	var b strings.Builder
	fmt.Fprintf(&b, "@@ line %d", 1+strings.Count(text[:i], "\n"))
	if n > 1 {
		fmt.Fprintf(&b, " and %d more", n-1)
	}
	b.WriteString(" @@\n")
	prefix(&b, "-", before+old+after)
	prefix(&b, "+", before+replacement+after)
	return b.String()
}

func prefix(b *strings.Builder, sign, lines string) {
	for l := range strings.Lines(lines) {
		b.WriteString(sign + strings.TrimRight(l, "\r\n") + "\n")
	}
}
