package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type logArgs struct {
	Repo   string `json:"repo,omitempty" doc:"a path in the repository; the granted folder if absent"`
	Rev    string `json:"rev,omitempty" doc:"where to begin: branch, tag, hash, HEAD~3, or a range such as main..topic; HEAD if absent"`
	Path   string `json:"path,omitempty" doc:"only commits that change this file or folder, relative to the repository"`
	Author string `json:"author,omitempty" doc:"only commits whose author's name or address has this in it"`
	Grep   string `json:"grep,omitempty" doc:"only commits whose message matches this regular expression, in any case"`
	Since  string `json:"since,omitempty" doc:"only commits after this time: 2026-01-31 or RFC 3339"`
	Until  string `json:"until,omitempty" doc:"only commits before this time"`
	Short  bool   `json:"short,omitempty" doc:"one line a commit"`
	Skip   int    `json:"skip,omitempty" doc:"how many to leave out at first" minimum:"0"`
	Max    int    `json:"max" doc:"how many to show" minimum:"1" maximum:"500" default:"20"`
}

func log(_ *sallyport.Call, a logArgs) (string, error) {
	r, err := open(a.Repo)
	if err != nil {
		return "", err
	}
	l, err := newLogger(r, a)
	if err != nil {
		return "", err
	}
	commits, err := l.commits()
	if err != nil {
		return "", err
	}
	if len(commits) == 0 {
		return "no commits", nil
	}
	return l.text(commits), nil
}

// logger selects the commits of a log.
type logger struct {
	r            *repository
	a            logArgs
	since, until time.Time
	grep         *regexp.Regexp
	more         bool
}

func newLogger(r *repository, a logArgs) (l *logger, err error) {
	l = &logger{r: r, a: a}
	if l.since, err = parseTime(a.Since); err != nil {
		return nil, err
	}
	if l.until, err = parseTime(a.Until); err != nil {
		return nil, err
	}
	if l.grep, err = regexp.Compile("(?i)" + a.Grep); err != nil {
		return nil, fmt.Errorf("grep: %w", err)
	}
	return l, nil
}

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write 2026-01-31 or 2026-01-31T12:00:00Z", s)
}

// commits returns the commits to show, newest first.
func (l *logger) commits() ([]*object.Commit, error) {
	w, err := l.walk()
	if err != nil {
		return nil, err
	}
	var found []*object.Commit
	skip := l.a.Skip
	for {
		c, err := w.next()
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			return found, nil
		case !l.wanted(c):
		case skip > 0:
			skip--
		case len(found) == l.a.Max:
			l.more = true
			return found, nil
		default:
			found = append(found, c)
		}
	}
}

// walk starts a walk at a revision, or at the ends of a range: a..b has the commits in b but not in a, and a...b
// those in only one of them.
func (l *logger) walk() (*walker, error) {
	w, err := l.r.newWalker(cleanPath(l.a.Path))
	if err != nil {
		return nil, err
	}
	from, to, isRange := strings.Cut(l.a.Rev, "..")
	if !isRange {
		c, err := l.r.commitOf(l.a.Rev)
		if err != nil {
			return nil, err
		}
		return w, w.begin([]*object.Commit{c}, nil)
	}
	to, both := strings.CutPrefix(to, ".")
	a, err := l.r.commitOf(from)
	if err != nil {
		return nil, err
	}
	b, err := l.r.commitOf(to)
	if err != nil {
		return nil, err
	}
	if both {
		bases, err := a.MergeBase(b)
		if err != nil {
			return nil, err
		}
		return w, w.begin([]*object.Commit{a, b}, bases)
	}
	err = w.begin([]*object.Commit{b}, []*object.Commit{a})
	if err == nil && len(w.queue) == 0 {
		err = errors.New("no commits: " + from + " has all of " + to)
	}
	return w, err
}

func (l *logger) wanted(c *object.Commit) bool {
	when := c.Committer.When
	return (l.since.IsZero() || when.After(l.since)) && (l.until.IsZero() || when.Before(l.until)) &&
		strings.Contains(strings.ToLower(c.Author.String()), strings.ToLower(l.a.Author)) &&
		l.grep.MatchString(c.Message)
}

func (l *logger) text(commits []*object.Commit) string {
	names := l.r.decorations()
	out := output{}
	for _, c := range commits {
		if l.a.Short {
			title, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
			out.printf("%s %s %s%s\n", short(c.Hash), c.Author.When.Format(time.DateOnly), title, names[c.Hash])
		} else {
			writeCommit(&out, c, names[c.Hash])
		}
	}
	if l.more {
		out.printf("(there are more: call again with skip %d)\n", l.a.Skip+l.a.Max)
	}
	return out.String()
}

func writeCommit(out *output, c *object.Commit, names string) {
	out.printf("commit %s%s\n", c.Hash, names)
	if len(c.ParentHashes) > 1 {
		out.printf("Merge:")
		for _, p := range c.ParentHashes {
			out.printf(" %s", short(p))
		}
		out.printf("\n")
	}
	out.printf("Author: %s <%s>\nDate:   %s\n\n", c.Author.Name, c.Author.Email, c.Author.When.Format(time.RFC1123Z))
	for line := range strings.Lines(strings.TrimSpace(c.Message)) {
		out.printf("%s\n", strings.TrimRight("    "+line, " \r\n"))
	}
	out.printf("\n")
}

// decorations returns the names of the branches and tags at each commit, in git's format.
func (r *repository) decorations() map[plumbing.Hash]string {
	all := map[plumbing.Hash][]string{}
	it, err := r.IterReferences()
	if err != nil {
		return nil
	}
	_ = it.ForEach(func(ref *plumbing.Reference) error { // unreadable refs are omitted
		if ref.Type() == plumbing.HashReference && (ref.Name().IsBranch() || ref.Name().IsTag() || ref.Name().IsRemote()) {
			if h, err := r.peel(ref.Hash()); err == nil {
				all[h] = append(all[h], ref.Name().Short())
			}
		}
		return nil
	})
	out := map[plumbing.Hash]string{}
	for h, names := range all {
		out[h] = " (" + strings.Join(names, ", ") + ")"
	}
	return out
}

// cleanPath returns a path inside a repository, or "" for all of it.
func cleanPath(path string) string {
	path = strings.Trim(filepath.ToSlash(filepath.Clean(path)), "/")
	if path == "." {
		return ""
	}
	return path
}

func isBelow(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
