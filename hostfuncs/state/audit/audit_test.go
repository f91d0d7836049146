package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// TestMain also runs the killed process of TestCrash_leavesVerifiableChain and the process of TestLog_fullDisk.
func TestMain(m *testing.M) {
	if dir := os.Getenv("AUDIT_TEST_FULL"); dir != "" {
		if err := fillUp(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("AUDIT_TEST_DIR"); dir != "" {
		l := audit.New(dir, audit.Options{})
		for i := range 500 {
			if _, err := l.Append(fmt.Appendf(nil, `"i":%d`, i)); err != nil {
				fmt.Println(err)
			}
			if i == 400 {
				_ = l.Sync()
			}
		}
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	os.Exit(m.Run())
}

// written makes a folder with two chains of ten lines.
func written(t *testing.T) (dir string, marks []audit.Mark) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	for range 2 {
		l := audit.New(dir, audit.Options{})
		for i := range 8 {
			m, err := l.Append(fmt.Appendf(nil, `"call":"c%d","text":"the text of line %d"`, i, i))
			if err != nil {
				t.Fatal(err)
			}
			marks = append(marks, m)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir, marks
}

func logs(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func verify(t *testing.T, dir string) audit.Report {
	t.Helper()
	r, err := audit.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerify_whole(t *testing.T) {
	dir, _ := written(t)
	r := verify(t, dir)
	if len(r.Problems) != 0 || r.Chains != 2 || r.Lines != 20 || len(r.Open) != 0 {
		t.Errorf("got %+v, want 2 whole chains of 20 lines", r)
	}
	if r := verify(t, t.TempDir()); len(r.Problems) != 0 || r.Chains != 0 {
		t.Errorf("nothing written: got %+v, want no chains and no problems", r)
	}
}

// Every change of a chain is found, and the line is named.
func TestVerify_finds(t *testing.T) {
	lines := func(change func([]string) []string) func(string) error {
		return func(file string) error {
			raw, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			all := change(strings.SplitAfter(strings.TrimSuffix(string(raw), "\n"), "\n"))
			return os.WriteFile(file, []byte(strings.Join(all, "")), 0o600)
		}
	}
	for name, c := range map[string]struct {
		change func(file string) error
		want   string
	}{
		"changed":       {lines(func(l []string) []string { l[3] = strings.Replace(l[3], "text of", "text OF", 1); return l }), "line 4: it was changed"},
		"missing":       {lines(func(l []string) []string { return append(l[:3], l[4:]...) }), "line 4: line 5 stands here"},
		"first missing": {lines(func(l []string) []string { return l[1:] }), "line 1: line 2 stands here"},
		"reordered":     {lines(func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }), "line 4: line 5 stands here"},
		"twice":         {lines(func(l []string) []string { l[4] = l[3]; return l }), "line 5: line 4 stands here"},
		"truncated":     {lines(func(l []string) []string { return l[:7] }), "3 lines behind the head"},
		"torn":          {lines(func(l []string) []string { l[9] = l[9][:20]; return l }), "line 10: the last line is torn"},
		"invented": {lines(func(l []string) []string {
			l[9] = `{"n":10,"at":"x","event":"end","mac":"` + strings.Repeat("0", 32) + `"}` + "\n"
			return l
		}), "line 10: it was changed"},
		"another's": {func(file string) error {
			return os.Rename(file, filepath.Join(filepath.Dir(file), "20000101T000000-1-abcdef.log"))
		}, "the chain is gone"},
		"gone": {os.Remove, "the chain is gone"},
		"gone with its head": {func(file string) error {
			_ = os.Remove(strings.TrimSuffix(file, ".log") + ".head")
			return os.Remove(file)
		}, "the chain is gone; it had 10 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t)
			if err := c.change(firstChain(t, dir)); err != nil {
				t.Fatal(err)
			}
			r := verify(t, dir)
			found := false
			for _, p := range r.Problems {
				found = found || strings.Contains(p.String(), c.want)
			}
			if !found {
				t.Errorf("want %q in %v", c.want, r.Problems)
			}
		})
	}
}

// firstChain returns the chain that the other one names.
func firstChain(t *testing.T, dir string) string {
	t.Helper()
	for _, f := range logs(t, dir) {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(`"seen":{}`)) {
			return f
		}
	}
	t.Fatalf("got no first chain, want one")
	return ""
}

func TestProves_onlyKeptLines(t *testing.T) {
	dir, marks := written(t)
	line, err := audit.Proves(dir, marks[3].String())
	if err != nil || !bytes.Contains(line, []byte("the text of line 3")) {
		t.Errorf("line 3: got %s, %v, want it proved", line, err)
	}
	wrong := marks[3]
	wrong.MAC = marks[4].MAC
	for _, mark := range []string{wrong.String(), "x", "a/b/c", marks[3].Chain + "/999/00"} {
		if _, err := audit.Proves(dir, mark); err == nil {
			t.Errorf("%s: got it proved, want an error", mark)
		}
	}
}

// A killed process leaves a chain that verifies up to a clean tail.
func TestCrash_leavesVerifiableChain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "AUDIT_TEST_DIR="+dir)
	if out, err := c.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("a process that dies: got %v, %s, want an error without output", err, out)
	}
	r := verify(t, dir)
	if len(r.Problems) != 0 || r.Lines < 402 || len(r.Open) != 1 {
		t.Errorf("after a crash: got %+v, want 402 lines or more, one open chain, no problems", r)
	}
}

func TestLog_manyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			l := audit.New(dir, audit.Options{})
			defer l.Close()
			var calls sync.WaitGroup
			for range 4 {
				calls.Go(func() {
					for range 500 {
						if _, err := l.Append([]byte(`"x":"` + strings.Repeat("y", 300) + `"`)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			calls.Wait()
		})
	}
	work.Wait()
	if r := verify(t, dir); len(r.Problems) != 0 || r.Lines != 3*2002 || r.Chains != 3 {
		t.Errorf("got %+v, want 3 chains of %d lines in all without problems", r, 3*2002)
	}
}

func TestLog_nothingBeforeTheFirstLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := audit.New(dir, audit.Options{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("an unused log: got a folder made, want none")
	}
	if _, err := l.Append([]byte(`"x":1`)); err == nil {
		t.Errorf("append to a closed log: got success, want an error")
	}
}

// The beginning of the chain is told once.
func TestLog_tellsOfItsBeginning(t *testing.T) {
	began := 0
	l := audit.New(filepath.Join(t.TempDir(), "audit"), audit.Options{Began: func() { began++ }})
	for n := range 3 {
		if began != min(n, 1) {
			t.Errorf("after %d lines: got %d calls, want %d", n, began, min(n, 1))
		}
		if _, err := l.Append([]byte(`"x":1`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil || began != 1 {
		t.Errorf("at the end: got %d calls, %v, want 1", began, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	l := audit.New(filepath.Join(b.TempDir(), "audit"), audit.Options{})
	defer l.Close()
	line := []byte(`"call":"abcdefgh12345678","principal":"stdio:1000","method":"tools/call","tool":"echo","plugin":"echo","digest":"sha256:` +
		strings.Repeat("0", 64) + `","ms":0.123,"outcome":"ok"`)
	for b.Loop() {
		if _, err := l.Append(line); err != nil {
			b.Fatal(err)
		}
	}
}

// A log without its key proves nothing, and the error says so.
func TestVerify_withoutKey(t *testing.T) {
	dir := t.TempDir()
	l := audit.New(dir, audit.Options{})
	if _, err := l.Append([]byte(`"call":"x"`)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), os.Remove(filepath.Join(dir, "key"))); err != nil {
		t.Fatal(err)
	}
	if r, err := audit.Verify(dir); err != nil || r.Chains != 1 || len(r.Problems) != 1 {
		t.Errorf("got %+v, %v, want one chain and one problem", r, err)
	}
	if r, err := audit.Verify(filepath.Join(dir, "none")); err != nil || r.Chains != 0 || len(r.Problems) != 0 {
		t.Errorf("a folder that is missing: got %+v, %v, want no chains and no problems", r, err)
	}
}
