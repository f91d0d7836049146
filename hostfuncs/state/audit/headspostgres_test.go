//go:build postgres

package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

// The role of the hosts can neither remove a head nor set it back, with any statement.
func TestHeads_areKeptByTheDatabase(t *testing.T) {
	at := postgrestest.New(t)
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := at.SQL("owner", string(script)); err != nil {
		t.Fatal(out, err)
	}
	if err := storetest.Open(t, store.Options{URL: at.URL("sallyport_owner", "sallyport")}).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &audit.Heads{Store: storetest.Open(t, store.Options{URL: at.URL("sallyport", "sallyport")}), Host: "one"}
	now := time.Now()
	if err := errors.Join(h.Record(t.Context(), audit.Mark{Chain: "chain", N: 5, MAC: "aa"}, now), h.Record(t.Context(), audit.Mark{Chain: "chain", N: 10, MAC: "bb"}, now)); err != nil {
		t.Fatal(err)
	}
	for _, denied := range []string{
		"UPDATE records SET data = '9/bb' WHERE kind = 'head'", "UPDATE records SET data = '10/cc' WHERE kind = 'head'", "UPDATE records SET data = '' WHERE kind = 'head'",
		"UPDATE records SET kind = 'memory' WHERE kind = 'head'", "UPDATE records SET id = 'other' WHERE kind = 'head'", "UPDATE records SET principal = 'other' WHERE kind = 'head'",
		"ALTER TABLE records DISABLE TRIGGER head_kept", "SET session_replication_role = replica",
	} {
		if out, err := at.SQL("sallyport", denied); err == nil {
			t.Errorf("%s: got success, want it denied: %s", denied, out)
		}
	}
	for _, void := range []string{"DELETE FROM records", "UPDATE records SET expires = 0 WHERE kind = 'head'", "DELETE FROM records WHERE kind = 'head'"} {
		if out, err := at.SQL("sallyport", void); err != nil {
			t.Errorf("%s: %v: %s", void, err, out)
		}
	}
	if all, err := h.All(t.Context()); err != nil || len(all) != 1 || all[0].Last != "10/bb" || all[0].At.UnixMilli() != now.UnixMilli() {
		t.Errorf("got %+v, %v, want the head unchanged", all, err)
	}
	if err := h.Record(t.Context(), audit.Mark{Chain: "old", N: 1, MAC: "aa"}, now.AddDate(-2, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if out, err := at.SQL("sallyport", "DELETE FROM records WHERE id = 'old' RETURNING 'gone'"); err != nil || strings.TrimSpace(out) != "gone" {
		t.Errorf("an expired head: got %s, %v, want it removed", out, err)
	}
}

// While the database is away lines are written, and the head is recorded when it is back.
func TestLog_recordsItsHeadAfterTheDatabaseWasAway(t *testing.T) {
	at := postgrestest.New(t)
	h := &audit.Heads{Store: storetest.Open(t, store.Options{URL: at.URL("owner", "public")}), Host: "one"}
	if err := errors.Join(h.Store.Check(t.Context()), at.Crash()); err != nil {
		t.Fatal(err)
	}
	dir, failed := filepath.Join(t.TempDir(), "audit"), make(chan error, 10)
	l := audit.New(dir, audit.Options{Heads: h, Failed: func(err error) { failed <- err }})
	if _, err := l.Append([]byte(`"call":"x"`)); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, audit.ErrUnrecorded) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, audit.ErrUnrecorded)
	}
	if err := at.Begin(); err != nil {
		t.Fatal(err)
	}
	for err := h.Store.Check(t.Context()); err != nil; err = h.Store.Check(t.Context()) {
		time.Sleep(10 * time.Millisecond)
	}
	_, err := h.All(t.Context())
	for errors.Is(err, store.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond)
		_, err = h.All(t.Context())
	}
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	if all, err := h.All(t.Context()); err != nil || len(all) != 1 || !strings.HasPrefix(all[0].Last, "3/") {
		t.Errorf("got %+v, %v, want the head of 3 lines", all, err)
	}
}
