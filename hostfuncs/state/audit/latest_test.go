package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Latest returns the last calls of all processes once each, without other or partial lines.
func TestLatest_returnsEachCallOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	latest := NewLatest(dir, 3)
	calls := func() string {
		lines, err := latest.Lines()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, l := range lines {
			call, _ := jsonraw.String(jsonraw.Get(l.Text, "call"))
			all = append(all, call)
			if l.Chain == "" || l.N == 0 {
				t.Errorf("got line %+v, want one with chain and number", l)
			}
		}
		return strings.Join(all, " ")
	}
	if got := calls(); got != "" {
		t.Errorf("no folder: got calls %s, want none", got)
	}
	at := time.Now()
	clock := Options{Now: func() time.Time { at = at.Add(time.Second); return at }} // distinct times for all lines
	one, two := New(dir, clock), New(dir, clock)
	defer one.Close()
	defer two.Close()
	for i, log := range []*Log{one, two, one, two} {
		if _, err := log.Append(fmt.Appendf(nil, `"call":"c%d"`, i)); err != nil {
			t.Fatal(err)
		}
		if err := log.Sync(); err != nil {
			t.Fatal(err)
		}
		want := []string{"c0", "c1 c0", "c2 c1 c0", "c3 c2 c1"}[i]
		for range 2 { // the second round uses kept lines
			if got := calls(); got != want {
				t.Errorf("%d: %s, want %s", i, got, want)
			}
		}
	}
	if _, err := one.Append([]byte(`"event":"answer"`)); err != nil {
		t.Fatal(err)
	}
	if err := one.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := calls(); got != "c3 c2 c1" {
		t.Errorf("got calls %q, want c3 c2 c1", got)
	}
}

// The first read of a long file is limited to its end, and a partial line is read when it is complete.
func TestLatest_longFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "20260101T000000-1-aaaaaa-2.log")
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, `{"n":%d,"at":"2026-01-01T00:00:%06d","call":"c%d","plugin":"p"}`+"\n", i+1, i, i)
	}
	whole := text.String()
	half := len(whole) - 10
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	latest := NewLatest(dir, 2)
	for _, c := range []struct{ text, want string }{{whole[:half], "c19998"}, {whole, "c19999"}} {
		write(c.text)
		lines, err := latest.Lines()
		if err != nil || len(lines) != 2 {
			t.Fatalf("got lines %v, %v, want 2", lines, err)
		}
		if call, _ := jsonraw.String(jsonraw.Get(lines[0].Text, "call")); call != c.want || lines[0].Chain != "20260101T000000-1-aaaaaa" {
			t.Errorf("%s in %s, want %s", call, lines[0].Chain, c.want)
		}
	}
}
