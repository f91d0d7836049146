package hostfuncs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestConsent_onceHoldsForOneCallOnFiles(t *testing.T) {
	t.Parallel()
	home := world(t)
	f := newOffice(t, false, hostfuncs.Options{Home: home}, []string{"fs: read ~/work/**"})
	if _, e := readFile(f.call().Files(), home+"/work/a.txt"); e != wasi.ENOENT {
		t.Errorf("got errno %v, want ENOENT", e)
	}
	f.allow(f.waiting().ID, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
	g := f.call()
	for range 2 { // the answer is for a call, which may open the file again
		if text, e := readFile(g.Files(), home+"/work/a.txt"); text != "A" || e != 0 {
			t.Errorf("got %q, errno %v, want A", text, e)
		}
	}
	if _, e := readFile(f.call().Files(), home+"/work/a.txt"); e != wasi.ENOENT {
		t.Errorf("used by two calls: got %v, want %v", e, wasi.ENOENT)
	}
	f.allow(f.waiting().ID, store.Answer{Want: true})
	if text, e := readFile(f.call().Files(), home+"/work/sub/b.md"); text != "B" || e != 0 {
		t.Errorf("got %q, errno %v, want B", text, e)
	}
	f.silent()
}

// An answer about a file counts as long as the plugin may ask about files: it ends with the line that asked.
func TestConsent_answerAboutAFileEndsWithItsLine(t *testing.T) {
	t.Parallel()
	home := world(t)
	f := newOffice(t, false, hostfuncs.Options{Home: home}, nil, "fs: read ~/work/** {ask: true}", "net: GET https://a.example/** {ask: true}")
	readFile(f.call().Files(), home+"/work/a.txt")
	f.allow(f.waiting().ID, store.Answer{})
	for _, lines := range [][]string{{"fs: read ~/other/c.txt {ask: true}"}, {"net: GET https://a.example/** {ask: true}"}} {
		f.plugin.Grants = mustSet(t, lines...)
		_, e := readFile(f.call().Files(), home+"/work/a.txt")
		if files := strings.HasPrefix(lines[0], "fs"); (e == 0) != files {
			t.Errorf("%s: got errno %v, want %v that the answer counts", lines[0], e, files)
		}
	}
}

// TestConsent_listingIsAboutNames checks that a question about listing a folder is about its names: the answer shows
// them, and a want must cover them.
func TestConsent_listingIsAboutNames(t *testing.T) {
	t.Parallel()
	home := world(t)
	f := newOffice(t, false, hostfuncs.Options{Home: home}, []string{"fs: read ~/work/**"})
	if _, e := listDir(f.call().Files(), home+"/work"); e == 0 {
		t.Error("list without consent: got success, want a refusal")
	}
	if q := f.waiting(); q.Line != "fs: read ~/work/*" || q.Effect != "list ~/work" {
		t.Errorf("got question %+v, want that of the list of ~/work", q)
	}
	f.allow(f.waiting().ID, store.Answer{})
	if names, e := listDir(f.call().Files(), home+"/work"); e != 0 || !strings.Contains(names, "a.txt") {
		t.Errorf("got %q, errno %v, want a.txt among the names", names, e)
	}
	f.plugin.Wants = []hostfuncs.Want{{Grants: mustSet(t, "fs: read ~/other/c.txt")}}
	listDir(f.call().Files(), home+"/other")
	f.silent()
}

// makeAll creates a folder and its parents in the way of Go's os.MkdirAll, and then a file in it.
func makeAll(tr wasi.Tree, dir string) wasi.Errno {
	if s, e := tr.Stat(dir, true); e == 0 && s.Type == wasi.TypeDirectory {
		return 0
	}
	if up := filepath.Dir(dir); up != "/" {
		if e := makeAll(tr, up); e != 0 {
			return e
		}
	}
	e := tr.Mkdir(dir)
	if s, other := tr.Stat(dir, false); e != 0 && other == 0 && s.Type == wasi.TypeDirectory {
		return 0
	}
	return e
}

// save is a call that writes one file, and creates its folder if it is missing.
func (f *office) save(path string) (g *hostfuncs.Gate, err error) {
	f.t.Helper()
	g = f.call()
	tr := g.Files()
	e := makeAll(tr, filepath.Dir(path))
	if e == 0 {
		e = writeFile(tr, path, "new")
	}
	if err = g.Conclude(nil); err == nil && e != 0 {
		return g, fmt.Errorf("errno %d", e)
	}
	if err == nil {
		err = g.Land(f.t.Context())
	}
	return g, err
}

// TestConsent_newFileIsOneQuestion checks that a file in a missing folder takes one question, about the file, and one
// answer, which creates its parent folders and nothing else.
func TestConsent_newFileIsOneQuestion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ lines, wants []string }{
		"nothing granted": {nil, []string{"fs: read ~/work/**", "fs: write ~/work/**"}},
		"reading granted": {[]string{"fs: read ~/work/**"}, []string{"fs: write ~/**"}},
		"beside":          {[]string{"fs: write ~/work/x/other"}, []string{"fs: write ~/work/**"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := world(t)
			f := newOffice(t, false, hostfuncs.Options{Home: home, State: t.TempDir()}, tt.wants, tt.lines...)
			path := home + "/work/new/deep/a.txt"
			g, err := f.save(path)
			if err == nil {
				t.Fatal("write without consent: got success, want an error")
			}
			q := f.waiting()
			if q.Line != "fs: write ~/work/new/deep/a.txt" || q.Effect != "write ~/work/new/deep/a.txt" {
				t.Errorf("got question %+v, want that of the new file", q)
			}
			if d := g.Denials(); len(d) != 1 || d[0].Hint != allows(q) {
				t.Errorf("got denials %+v, want one with %s", d, allows(q))
			}
			if _, err := os.Stat(home + "/work/new"); err == nil {
				t.Error("before the answer: got a folder on the host, want none")
			}
			f.allow(q.ID, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
			g = f.call()
			if e := g.Files().Mkdir(home + "/work/other"); e != 0 || g.Conclude(nil) == nil {
				t.Errorf("another folder: got errno %v, want a call that does not conclude", e)
			}
			f.revokeAll()
			_, _ = f.save(path)
			f.allow(f.last().ID, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
			if g, err = f.save(path); err != nil {
				t.Fatalf("got %v and denials %+v, want a saved file", err, g.Denials())
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
				t.Errorf("got %q, %v, want new", text, err)
			}
			if left, err := f.answers.Grants(t.Context()); len(left) != 0 || err != nil {
				t.Errorf("after their use: got answers %+v, %v, want none", left, err)
			}
		})
	}
}

// soon waits for the next question, which must be the only one, and answers it.
func (f *office) soon(answer func(q store.Question) error) {
	f.t.Helper()
	q := <-f.asked
	if w := f.waiting(); w.ID != q.ID {
		f.t.Errorf("got question %s, want %s to wait", w.ID, q.ID)
	}
	if err := answer(q); err != nil {
		f.t.Error(err)
	}
}

// TestConsent_waitingCallReadsAndWritesAnsweredFile checks that a call that waited for an answer about a file can read
// it, write it, and create its parent folders. Paths reported as absent before stay absent.
func TestConsent_waitingCallReadsAndWritesAnsweredFile(t *testing.T) {
	t.Parallel()
	home := world(t)
	f := newOffice(t, true, hostfuncs.Options{Home: home, State: t.TempDir()}, []string{"fs: read ~/work/**", "fs: write ~/work/**"})
	once := func(q store.Question) error {
		_, err := f.answers.Allow(t.Context(), q.ID, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
		return err
	}
	g := f.call()
	tr := g.Files()
	for path, text := range map[string]string{"/work/a.txt": "A", "/work/sub/b.md": "B"} { // two paths of one want
		done := make(chan string)
		go func() {
			text, _ := readFile(tr, home+path)
			done <- text
		}()
		f.soon(once)
		if got := <-done; got != text {
			t.Errorf("%s: got %q, denials %+v, want %q", path, got, g.Denials(), text)
		}
	}
	if _, e := tr.Stat(home+"/work/sub", true); e != 0 {
		t.Errorf("the folder above a granted file: got %v, want success", e)
	}
	if d := g.Denials(); len(d) != 0 {
		t.Errorf("got denials %+v, want none", d)
	}

	saved := make(chan error)
	path := home + "/work/new/deep/x.txt"
	go func() {
		_, err := f.save(path)
		saved <- err
	}()
	f.soon(once)
	if err := <-saved; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
		t.Errorf("got %q, %v, want new", text, err)
	}
	go func() {
		_, err := f.save(home + "/work/no/x.txt")
		saved <- err
	}()
	f.soon(func(q store.Question) error { return f.answers.Deny(t.Context(), q.ID, time.Now().Add(time.Hour)) })
	if err := <-saved; err == nil {
		t.Error("a refused write: got success, want an error")
	}
	if _, err := os.Stat(home + "/work/no"); err == nil {
		t.Error("a refused write: got its folder on the host, want none")
	}
	if left, err := f.answers.Grants(t.Context()); len(left) != 0 || err != nil {
		t.Errorf("a refused write: got answers %+v, %v, want none", left, err)
	}
}

// TestConsent_waitsForPathBelowWorkspace checks that a call that only uses paths below /workspace is asked about the
// host's files, waits, and finds them there.
func TestConsent_waitsForPathBelowWorkspace(t *testing.T) {
	t.Parallel()
	home := world(t)
	f := newOffice(t, true, hostfuncs.Options{Home: home, State: t.TempDir()}, []string{"fs: write {workspace}/**"})
	f.plugin.Workspace = home + "/work"
	saved := make(chan error)
	for path, line := range map[string]string{"/workspace/new/x.txt": "fs: write ~/work/new/x.txt", "/workspace/y.txt": "fs: write ~/work/y.txt"} {
		go func() {
			_, err := f.save(path)
			saved <- err
		}()
		f.soon(func(q store.Question) error {
			if q.Line != line {
				t.Errorf("%s: got question %s, want %s", path, q.Line, line)
			}
			_, err := f.answers.Allow(t.Context(), q.ID, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
			return err
		})
		if err := <-saved; err != nil {
			t.Errorf("%s: got %v, want a saved file", path, err)
		}
		if text, err := os.ReadFile(strings.Replace(path, "/workspace", home+"/work", 1)); err != nil || string(text) != "new" {
			t.Errorf("got %q, %v, want new", text, err)
		}
	}
}

// revokeAll revokes all answers and removes all questions.
func (f *office) revokeAll() {
	f.t.Helper()
	grants, err := f.answers.Grants(f.t.Context())
	for _, g := range grants {
		_, err = f.answers.Revoke(f.t.Context(), g.ID)
	}
	questions, other := f.answers.Questions(f.t.Context())
	if err := errors.Join(err, other, f.answers.Answered(f.t.Context(), questions...)); err != nil {
		f.t.Fatal(err)
	}
	f.later()
}

// TestConsent_deniesDeferredLookupsAfterCall checks that deferred lookups are denied after the call, unless they led to
// a path that was denied itself, and that a call fails if its own folder is denied.
func TestConsent_deniesDeferredLookupsAfterCall(t *testing.T) {
	t.Parallel()
	home := world(t)
	f := newOffice(t, false, hostfuncs.Options{Home: home}, []string{"fs: read ~/**", "fs: write ~/work/**"})
	g := f.call()
	tr := g.Files()
	for _, path := range []string{"/work", "/work/sub", "/work/none"} { // two that exist, one that does not
		if _, e := tr.Stat(home+path, true); e != wasi.ENOENT {
			t.Errorf("%s: got errno %v, want ENOENT", path, e)
		}
	}
	f.silent()
	if err := g.Conclude(nil); err != nil {
		t.Error(err)
	}
	if d := g.Denials(); len(d) != 2 || d[0].Effect != "read ~/work/sub" || d[1].Effect != "read ~/work/none" {
		t.Errorf("got denials %+v, want those of ~/work/sub and ~/work/none", d)
	}
	f.waiting() // one question for a want
	f.revokeAll()

	g = f.call()
	tr = g.Files()
	if e := tr.Mkdir(home + "/work/sub"); e != 0 { // it exists, which is not revealed
		t.Errorf("got errno %v, want success", e)
	}
	if _, e := tr.Stat(home+"/work/sub", true); e != 0 {
		t.Errorf("got errno %v, want success", e)
	}
	err := g.Conclude(nil)
	var end *runtime.EndError
	if !errors.As(err, &end) || end.Kind != runtime.KindDenied || f.waiting().Line != "fs: write ~/work/sub" {
		t.Errorf("got %v and question %+v, want denied and fs: write ~/work/sub", err, f.waiting())
	}
	f.revokeAll()

	g = f.call()
	tr = g.Files()
	if e := tr.Mkdir(home + "/work/gone"); e != 0 {
		t.Errorf("got errno %v, want success", e)
	}
	if e := tr.Rmdir(home + "/work/gone"); e != 0 {
		t.Errorf("got errno %v, want success", e)
	}
	if err := g.Conclude(nil); err != nil {
		t.Errorf("a folder that was removed again: got %v, want success", err)
	}
	f.silent()

	f.plugin.Wants = f.plugin.Wants[:1] // writing was not declared
	g = f.call()
	if e := g.Files().Mkdir(home + "/work/new"); e == 0 {
		t.Error("an undeclared write: got success, want a refusal")
	}
	f.silent()
}

// TestConsent_limitsDeferredLookups checks that ten thousand lookups of a call are limited, and end with one question.
func TestConsent_limitsDeferredLookups(t *testing.T) {
	t.Parallel()
	home := world(t)
	f := newOffice(t, false, hostfuncs.Options{Home: home}, []string{"fs: write ~/work/**"})
	g := f.call()
	tr := g.Files()
	for i := range 10_000 {
		tr.Stat(fmt.Sprintf("%s/work/%d/x", home, i), true)
		tr.Mkdir(fmt.Sprintf("%s/work/%d", home, i))
	}
	if err := g.Conclude(nil); err == nil {
		t.Error("folders that no grant covers: got success, want an error")
	}
	f.waiting()
	if d := g.Denials(); len(d) != 64 {
		t.Errorf("got %d denials, want 64", len(d))
	}
}
