package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

// shared returns the heads of one host in a new store.
func shared(t *testing.T) *audit.Heads {
	t.Helper()
	return &audit.Heads{Store: storetest.Open(t, storetest.Options(t, filepath.Join(t.TempDir(), "store"))), Host: "one:/state"}
}

// recorded writes n lines to a new chain of a folder whose head is recorded, and runs then before it ends.
func recorded(t *testing.T, dir string, h *audit.Heads, n int, then func(*audit.Log)) {
	t.Helper()
	l := audit.New(dir, audit.Options{Heads: h, Failed: func(err error) { t.Error(err) }})
	for i := range n {
		if _, err := l.Append(fmt.Appendf(nil, `"call":"c%d"`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if then != nil {
		then(l)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// problems verifies a folder against the recorded heads.
func problems(t *testing.T, dir string, h *audit.Heads) (all []string) {
	t.Helper()
	heads, err := h.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Verify(dir, heads...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		all = append(all, p.String())
	}
	return all
}

// wantProblem checks that there is one problem, with these words.
func wantProblem(t *testing.T, got []string, words string) {
	t.Helper()
	if len(got) != 1 || !strings.Contains(got[0], words) {
		t.Errorf("got %q, want one problem with %q", got, words)
	}
}

// A folder that has all that was recorded of it is whole, also after retention.
func TestHeads_wholeLog(t *testing.T) {
	h, dir := shared(t), filepath.Join(t.TempDir(), "audit")
	recorded(t, dir, h, 5, nil)
	recorded(t, dir, h, 7, nil)
	if got := problems(t, dir, h); len(got) > 0 {
		t.Errorf("got %q, want no problems", got)
	}
	if err := audit.Prune(dir, audit.Keep{Bytes: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := problems(t, dir, h); len(got) > 0 {
		t.Errorf("after retention: got %q, want no problems", got)
	}
}

// A disk that was lost with all its chains, the key, or nothing but the last chain is found out.
func TestHeads_tellALostDisk(t *testing.T) {
	h, dir := shared(t), filepath.Join(t.TempDir(), "audit")
	recorded(t, dir, h, 5, nil)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, problems(t, dir, h), "the chain is gone; the database has its line 7 of 20")
	recorded(t, dir, h, 3, nil) // the host begins with an empty disk
	wantProblem(t, problems(t, dir, h), "the chain is gone; the database has its line 7 of 20")
}

// A disk that was set back to a consistent copy of before is found out: its own heads are those of the copy.
func TestHeads_tellADiskThatWasSetBack(t *testing.T) {
	h, dir := shared(t), filepath.Join(t.TempDir(), "audit")
	before := filepath.Join(t.TempDir(), "before")
	recorded(t, dir, h, 5, func(l *audit.Log) {
		if err := errors.Join(l.Sync(), audit.Backup(dir, before)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append([]byte(`"call":"later"`)); err != nil {
			t.Fatal(err)
		}
	})
	if err := errors.Join(os.RemoveAll(dir), os.Rename(before, dir)); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, problems(t, dir, h), "it ends at line 6, and the database has its line 8 of 20")
}

// A chain that was forged with the key has another MAC than its recorded head.
func TestHeads_tellAForgedChain(t *testing.T) {
	h, dir := shared(t), filepath.Join(t.TempDir(), "audit")
	recorded(t, dir, h, 5, nil)
	heads, err := h.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	number, _, _ := strings.Cut(heads[0].Last, "/")
	heads[0].Last = number + "/" + strings.Repeat("0", 32)
	r, err := audit.Verify(dir, heads...)
	if err != nil || len(r.Problems) != 1 || r.Problems[0].What != "the database has another MAC for it" || r.Problems[0].N != 7 {
		t.Errorf("got %+v, %v, want line 7 with another MAC", r, err)
	}
}

// A process that goes on from an earlier state, as after a snapshot of its machine, is told so.
func TestHeads_areNotSetBack(t *testing.T) {
	h, now := shared(t), time.Now()
	mark := func(n uint64, mac string) audit.Mark { return audit.Mark{Chain: "chain", N: n, MAC: mac} }
	if err := errors.Join(h.Record(t.Context(), mark(5, "aa"), now), h.Record(t.Context(), mark(9, "bb"), now), h.Record(t.Context(), mark(9, "bb"), now)); err != nil {
		t.Fatal(err)
	}
	for _, m := range []audit.Mark{mark(5, "aa"), mark(9, "cc")} {
		if err := h.Record(t.Context(), m, now); err == nil || !strings.Contains(err.Error(), "chain chain has line 9 there, and is at line ") {
			t.Errorf("%v: got %v, want an error", m, err)
		}
	}
	all, err := h.All(t.Context())
	if err != nil || len(all) != 1 || all[0].Last != "9/bb" || all[0].Host != h.Host || all[0].At.UnixMilli() != now.UnixMilli() {
		t.Errorf("got %+v, %v, want line 9 of now", all, err)
	}
}

// Heads of more than a page of a list are returned, and those of a chain that grew last long ago are not.
func TestHeads_areKeptForAYear(t *testing.T) {
	c, dir := storetest.NewClock(time.UnixMilli(1_700_000_000_000)), filepath.Join(t.TempDir(), "store")
	o := storetest.Options(t, dir)
	o.Now = c.Now
	h := &audit.Heads{Store: storetest.Open(t, o), Host: "one"}
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			own := &audit.Heads{Store: h.Store, Host: fmt.Sprint("host", i)}
			for n := range 260 {
				if err := own.Record(t.Context(), audit.Mark{Chain: fmt.Sprint(i, "-", n), N: 1, MAC: "aa"}, c.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	c.Pass(399 * 24 * time.Hour)
	if err := h.Record(t.Context(), audit.Mark{Chain: "later", N: 1, MAC: "aa"}, c.Now()); err != nil {
		t.Fatal(err)
	}
	if all, err := h.All(t.Context()); err != nil || len(all) != 4*260+1 {
		t.Errorf("got %d heads, %v, want %d", len(all), err, 4*260+1)
	}
	c.Pass(2 * 24 * time.Hour)
	if all, err := h.All(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("after 401 days: got %d heads, %v, want the later one", len(all), err)
	}
}

// A log whose heads cannot be recorded goes on, and reports it.
func TestLog_goesOnWithoutRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	s := store.New(storetest.Options(t, filepath.Join(t.TempDir(), "store")))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var failed []error
	l := audit.New(dir, audit.Options{Heads: &audit.Heads{Store: s, Host: "one"}, Failed: func(err error) { failed = append(failed, err) }})
	if _, err := l.Append([]byte(`"call":"x"`)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: got %v, want success", err)
	}
	if len(failed) != 1 || !errors.Is(failed[0], audit.ErrUnrecorded) || !errors.Is(failed[0], store.ErrClosed) {
		t.Errorf("got %v, want one %v", failed, audit.ErrUnrecorded)
	}
	if r := verify(t, dir); len(r.Problems) != 0 || r.Lines != 3 {
		t.Errorf("got %+v, want 3 lines without problems", r)
	}
}
