package audit_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// exportedHost writes a folder with two chains of ten lines, and returns its key and its exported lines, those of the chain
// that began first before those of the one that names it.
func exportedHost(t *testing.T) (key []byte, lines []string) {
	t.Helper()
	dir, _ := written(t)
	key, err := audit.ReadKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := audit.Export(dir, &out); err != nil {
		t.Fatal(err)
	}
	lines = slices.Collect(strings.Lines(out.String()))
	if !strings.Contains(lines[0], `"seen":{}`) { // two chains of one second are in the order of their random names
		lines = append(lines[10:], lines[:10]...)
	}
	return key, lines
}

// saved writes files of lines, and returns their names.
func saved(t *testing.T, files ...[]string) (names []string) {
	t.Helper()
	dir := t.TempDir()
	for i, lines := range files {
		name := filepath.Join(dir, fmt.Sprint("export.", i))
		if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func verifyFiles(t *testing.T, f audit.Files, names ...string) audit.Report {
	t.Helper()
	r, err := f.Verify(names...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mixed returns the lines of both in turn.
func mixed(a, b []string) (all []string) {
	for i := range a {
		all = append(all, a[i], b[i])
	}
	return all
}

// Whole lines of two hosts are proven in every form in which they can come.
func TestFiles_provesWholeLinesOfTwoHosts(t *testing.T) {
	k1, one := exportedHost(t)
	k2, two := exportedHost(t)
	for name, files := range map[string][][]string{
		"a file each":            {one, two},
		"mixed in one file":      {mixed(one, two)},
		"rotated":                {mixed(one, two)[:17], mixed(one, two)[17:]},
		"rotated, latest first":  {mixed(one, two)[17:], mixed(one, two)[:17]},
		"pieces of three files":  {one[:4], append(slices.Clone(one[7:]), two...), one[4:7]},
		"sent in part once more": {append(slices.Clone(one[:6]), one[2:]...), two},
		"files overlap":          {one[:8], one[5:], two},
	} {
		r := verifyFiles(t, audit.Files{Keys: [][]byte{k2, k1}}, saved(t, files...)...)
		if len(r.Problems) != 0 || r.Chains != 4 || r.Lines != 40 || len(r.Open) != 0 {
			t.Errorf("%s: got %+v, want 4 whole chains of 40 lines", name, r)
		}
		if again := strings.Contains(name, "once more") || strings.Contains(name, "overlap"); (r.Repeated > 0) != again {
			t.Errorf("%s: got %d repeated lines, want some: %v", name, r.Repeated, again)
		}
	}
}

// The files of a log are their own export, also under the names of a rotation.
func TestFiles_readsTheFilesOfALog(t *testing.T) {
	dir, _ := written(t)
	key, err := audit.ReadKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	files := logs(t, dir)
	if err := os.Rename(files[0], files[0]+".1"); err != nil {
		t.Fatal(err)
	}
	r := verifyFiles(t, audit.Files{Keys: [][]byte{key}}, files[0]+".1", files[1])
	if len(r.Problems) != 0 || r.Chains != 2 || r.Lines != 20 {
		t.Errorf("got %+v, want 2 whole chains of 20 lines", r)
	}
}

// Every change is found, and the line is named.
func TestFiles_finds(t *testing.T) {
	k1, one := exportedHost(t)
	k2, two := exportedHost(t)
	chainOf := func(line string) string { return strings.Split(line, `"`)[3] }
	other := func(line string, to string) string { return strings.Replace(line, chainOf(line), to, 1) }
	for name, c := range map[string]struct {
		change func(lines []string) []string // of the first chain of the first host: lines 0 to 9
		want   string
	}{
		"changed":          {func(l []string) []string { l[3] = strings.Replace(l[3], "text of", "text OF", 1); return l }, "line 4: it was changed"},
		"the first":        {func(l []string) []string { l[0] = strings.Replace(l[0], "begin", "BEGIN", 1); return l }, "line 1: it was changed"},
		"removed":          {func(l []string) []string { return slices.Delete(l, 3, 4) }, "lines 4 to 4 are missing"},
		"the first is not": {func(l []string) []string { return l[1:] }, "line 2: the lines before it are not in these files"},
		"moved forward":    {func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }, "line 4: it stands behind line 5"},
		"moved far":        {func(l []string) []string { return append(slices.Delete(slices.Clone(l), 3, 4), l[3]) }, "line 4: it stands behind line 10"},
		"invented": {func(l []string) []string {
			return slices.Insert(l, 4, strings.Replace(l[3], `"text"`, `"next"`, 1))
		}, "it was changed"},
		"in two forms": {func(l []string) []string {
			return slices.Insert(l, 4, l[3][:len(l[3])-8]+"0000\"}}\n")
		}, "line 4: it stands behind line 4"},
		"repeated in two forms": {func(l []string) []string {
			return append(slices.Clone(l), strings.Replace(l[0], `"seen":{}`, `"seen":[]`, 1))
		}, "line 1: it stands in two forms"},
		"of another host": {func(l []string) []string { l[3] = other(two[3], chainOf(l[3])); return l }, "line 4: it was changed"},
		"renamed": {func(l []string) []string {
			for i := range 10 {
				l[i] = other(l[i], "20000101T000000-1-abcdef")
			}
			return l
		}, "line 1: it was changed"},
		"the chain":   {func(l []string) []string { return l[10:] }, "the chain is not in these files; it had 10 lines or more"},
		"truncated":   {func(l []string) []string { return slices.Delete(l, 7, 10) }, "it had 10 lines, as chain"},
		"torn":        {func(l []string) []string { l[len(l)-1] = l[len(l)-1][:30]; return l }, "line 20: it is no whole line"},
		"no line":     {func(l []string) []string { return slices.Insert(l, 2, "{}\n") }, "line 3: it is no whole line"},
		"no MAC":      {func(l []string) []string { l[3] = `{"chain":"x","line":{"n":1}}` + "\n"; return l }, "is no line of this log"},
		"encoded new": {func(l []string) []string { l[3] = strings.Replace(l[3], `,"line"`, `, "line"`, 1); return l }, "line 4: it is no whole line"},
	} {
		lines := c.change(slices.Clone(one))
		for form, files := range map[string][][]string{"one host": {lines}, "two hosts": {two, lines}} {
			r := verifyFiles(t, audit.Files{Keys: [][]byte{k1, k2}}, saved(t, files...)...)
			if !slices.ContainsFunc(r.Problems, func(p audit.Problem) bool { return strings.Contains(p.String(), c.want) }) {
				t.Errorf("%s, %s: got %v, want %q", name, form, r.Problems, c.want)
			}
		}
	}
}

// A chain that is cut at its end is open, and a head from elsewhere tells that it was longer, or another one.
func TestFiles_comparesHeads(t *testing.T) {
	key, lines := exportedHost(t)
	last := lines[19] // of the second chain, which no other chain has seen
	chain, mac := strings.Split(last, `"`)[3], last[strings.LastIndex(last, `"mac":"`)+7:][:32]
	cut := saved(t, lines[:15])
	if r := verifyFiles(t, audit.Files{Keys: [][]byte{key}}, cut...); len(r.Problems) != 0 || r.Open[chain] != 5 {
		t.Errorf("without heads: got %+v, want the chain open at line 5", r)
	}
	for _, c := range []struct {
		head, want string
		files      []string
	}{
		{"10/" + mac, "it had 10 lines, as the database tells", cut},
		{"10/" + strings.Repeat("0", 32), "line 10: the database has another MAC for it", saved(t, lines)},
		{"10/" + mac, "", saved(t, lines)},
		{"10/" + mac, "the chain is not in these files; it had 10 lines or more, as the database tells", saved(t, lines[:10])},
	} {
		r := verifyFiles(t, audit.Files{Keys: [][]byte{key}, Heads: map[string]string{chain: c.head}}, c.files...)
		if got := fmt.Sprint(r.Problems); c.want == "" && len(r.Problems) > 0 || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %q", c.head, got, c.want)
		}
	}
}

// Each key is named by the SHA-256 of its file, with the lines that it signs. Marks from elsewhere tell a log from an
// invented one of the same key.
func TestFiles_namesItsKeysAndComparesMarks(t *testing.T) {
	k1, one := exportedHost(t)
	k2, two := exportedHost(t)
	mark := func(line string) string {
		p := strings.Split(line, `"`)
		return p[3] + "/" + strings.Trim(p[8], ":,") + "/" + line[strings.LastIndex(line, `"mac":"`)+7:][:32]
	}
	of := func(key []byte, chains int, lines uint64) audit.Signed {
		return audit.Signed{Key: fmt.Sprintf("sha256:%x", sha256.Sum256(key)), Chains: chains, Lines: lines}
	}
	f := audit.Files{Keys: [][]byte{k2, k1, make([]byte, 32)}, Marks: []string{mark(one[3]), mark(one[12]), mark(two[9])}}
	r := verifyFiles(t, f, saved(t, one, two[:10])...)
	if want := []audit.Signed{of(k2, 1, 10), of(k1, 2, 20), of(make([]byte, 32), 0, 0)}; len(r.Problems) != 0 || !slices.Equal(r.Signed, want) {
		t.Errorf("got %+v, want the parts %+v", r, want)
	}
	for _, c := range [][2]string{
		{mark(two[15]), "the chain is not in these files; it had 6 lines or more, as your mark tells"},
		{strings.Replace(mark(one[3]), "/4/", "/5/", 1), "line 5: your mark has another MAC for it"},
		{strings.Replace(mark(one[3]), "/4/", "/99/", 1), "it had 99 lines, as your mark tells"},
	} {
		f.Marks = []string{mark(one[3]), c[0]}
		if r := verifyFiles(t, f, saved(t, one, two[:10])...); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].String(), c[1]) {
			t.Errorf("%s: got %v, want %q", c[0], r.Problems, c[1])
		}
	}
	for _, bad := range []string{"", "a/1", "a/b/c", "a/1/2/3"} {
		f.Marks = []string{bad}
		if _, err := f.Verify(saved(t, one)...); err == nil {
			t.Errorf("%q: got no error, want that it is no mark", bad)
		}
	}
}

func TestFiles_provesNothingWithoutTheKey(t *testing.T) {
	_, lines := exportedHost(t)
	r := verifyFiles(t, audit.Files{Keys: [][]byte{make([]byte, 32)}}, saved(t, lines)...)
	if len(r.Problems) != 20 {
		t.Errorf("got %d problems, want one for each of 20 lines", len(r.Problems))
	}
	if r := verifyFiles(t, audit.Files{}, saved(t, lines)...); len(r.Problems) != 20 {
		t.Errorf("no keys: got %d problems, want one for each of 20 lines", len(r.Problems))
	}
}

// A file with a gap at each line and a problem in each has a report of bounded size.
func TestFiles_boundsTheReportOfAHostileFile(t *testing.T) {
	line := func(n int) string {
		return fmt.Sprintf(`{"chain":"a","line":{"n":%d,"mac":"%032d"}}`+"\n", n, 0)
	}
	const pieces = 100_000
	lines := make([]string, 0, 2*pieces)
	for i := range pieces {
		lines = append(lines, line(2*i+2))
	}
	for range pieces {
		lines = append(lines, line(1))
	}
	f := audit.Files{Keys: [][]byte{[]byte("k")}}
	r := verifyFiles(t, f, saved(t, lines)...)
	if n := len(r.Problems); n > 20_000 || !strings.Contains(r.Problems[n-1].String(), "more problems are not listed") {
		t.Errorf("got %d problems up to %q, want some, and the number of the others", n, r.Problems[n-1])
	}
}

func FuzzFiles_neverPanics(f *testing.F) {
	f.Add([]byte(`{"chain":"a","line":{"n":1,"mac":"00000000000000000000000000000000"}}` + "\n"))
	f.Add([]byte(`{"n":18446744073709551615,"mac":"00000000000000000000000000000000"}` + "\n" + `{"n":0,"mac":"00000000000000000000000000000000"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "20260102T150405-1-ab.log")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := audit.Files{Keys: [][]byte{[]byte("k")}}.Verify(name, name)
		if err == nil && r.Lines > 0 && len(r.Problems) == 0 {
			t.Errorf("got %+v, want no line proven", r)
		}
	})
}
