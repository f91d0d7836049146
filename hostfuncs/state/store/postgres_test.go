//go:build postgres

package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

// While the database is away, writes are refused and nothing that was stored is lost. The store connects by itself.
func TestPostgres_goesOnAfterTheDatabaseWasAway(t *testing.T) {
	at := postgrestest.New(t)
	s := storetest.Open(t, store.Options{URL: at.URL("owner", "public")})
	kept := add(t, s, store.Record{ID: "kept", Data: []byte("x")})
	if err := at.Crash(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Add(t.Context(), store.Task, store.Record{ID: "refused"}); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Fatalf("add: got %v, want %v", err, store.ErrUnavailable)
		}
		if _, err := s.Get(t.Context(), store.Task, "kept"); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("get: got %v, want %v", err, store.ErrUnavailable)
		}
	}
	if err := at.Begin(); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), store.Task, "kept")
	for errors.Is(err, store.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond)
		got, err = s.Get(t.Context(), store.Task, "kept")
	}
	if err != nil || got.Version != kept.Version || string(got.Data) != "x" {
		t.Errorf("got %+v, %v, want %+v", got, err, kept)
	}
	if _, err := s.Get(t.Context(), store.Task, "refused"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused record: got %v, want %v", err, store.ErrNotFound)
	}
	add(t, s, store.Record{ID: "after"})
}

// A database that nothing arrives from is away, long before the time that a slow one has.
func TestPostgres_noticesASilentDatabase(t *testing.T) {
	line := postgrestest.New(t).NewLine(t)
	s := storetest.Open(t, store.Options{URL: line.URL})
	add(t, s, store.Record{ID: "kept"})
	line.Silence()
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	if _, err := s.Add(ctx, store.Task, store.Record{ID: "refused"}); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.Canceled) {
		t.Errorf("add: got %v, want %v, of no context", err, store.ErrUnavailable)
	}
	if _, err := s.Get(ctx, store.Task, "kept"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: got %v, want %v", err, store.ErrUnavailable)
	}
	line.Mend()
	_, err := s.Get(ctx, store.Task, "kept")
	for errors.Is(err, store.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond)
		_, err = s.Get(ctx, store.Task, "kept")
	}
	if err != nil {
		t.Error(err)
	}
}

// A store whose database is away at the start opens it later.
func TestPostgres_opensTheDatabaseLater(t *testing.T) {
	at := postgrestest.New(t)
	if err := at.Crash(); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, store.Options{URL: at.URL("owner", "public")})
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, store.ErrUnavailable)
	}
	if err := at.Begin(); err != nil {
		t.Fatal(err)
	}
	err := s.Check(t.Context())
	for errors.Is(err, store.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond)
		err = s.Check(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A commit whose connection is lost is either stored or refused, and Landed tells the same.
func TestPostgres_landedTellsTheOutcomeOfALostCommit(t *testing.T) {
	at := postgrestest.New(t)
	s := storetest.Open(t, store.Options{URL: at.URL("owner", "public")})
	batch := []store.Batch{{Space: store.Space{Plugin: "p"}, Quota: 1 << 20, Writes: []store.Write{{Key: "k", Value: []byte("1")}}}}
	err := s.CommitAll(t.Context(), batch, "land", func() error {
		if _, err := at.SQL("owner", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"); err != nil {
			t.Error(err)
		}
		return nil
	})
	landed, unknown := s.Landed(t.Context(), "land")
	for errors.Is(unknown, store.ErrUnavailable) {
		time.Sleep(10 * time.Millisecond)
		landed, unknown = s.Landed(t.Context(), "land")
	}
	if !errors.Is(err, store.ErrUnavailable) || landed || unknown != nil {
		t.Errorf("got %v, landed %t, %v, want %v and not landed", err, landed, unknown, store.ErrUnavailable)
	}
	if err := s.CommitAll(t.Context(), batch, "second", nil); err != nil {
		t.Fatal(err)
	}
	if landed, err := s.Landed(t.Context(), "second"); !landed || err != nil {
		t.Errorf("got landed %t, %v, want true", landed, err)
	}
}

// The roles of docs/postgres.sql suffice: the owner makes the tables, the host's role uses them and can make none.
func TestPostgres_runsWithLeastPrivilege(t *testing.T) {
	at := postgrestest.New(t)
	script, err := os.ReadFile("../../../docs/postgres.sql")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := at.SQL("owner", string(script)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hosts := store.Options{URL: at.URL("sallyport", "sallyport")}
	early := storetest.Open(t, hosts)
	if err := early.Check(t.Context()); err == nil || !strings.Contains(err.Error(), `run "sallyport doctor" once as the owner`) {
		t.Errorf("without tables: got %v, want advice", err)
	}
	if err := storetest.Open(t, store.Options{URL: at.URL("sallyport_owner", "sallyport")}).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, hosts)
	r := add(t, s, store.Record{ID: "a", Principal: "p", Data: []byte("x")})
	if _, err := s.Replace(t.Context(), store.Task, r); err != nil {
		t.Error(err)
	}
	if err := s.Commit(t.Context(), store.Space{Plugin: "p"}, 100, []store.Write{{Key: "k", Value: []byte("1")}}, nil); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Hold("me"), s.Remove(t.Context(), store.Task, "a"), s.Purge(t.Context(), "p")); err != nil {
		t.Error(err)
	}
	for _, denied := range []string{"CREATE TABLE t (x int)", "DROP TABLE records", "ALTER TABLE records ADD COLUMN x int", "TRUNCATE records"} {
		if out, err := at.SQL("sallyport", denied); err == nil {
			t.Errorf("%s: got success, want it denied: %s", denied, out)
		}
	}
}

// A schema of each earlier version is brought up to date with its rows.
func TestPostgres_migratesForward(t *testing.T) {
	all := store.Migrations()
	for have := 1; have < len(all); have++ {
		dir := t.TempDir()
		o := storetest.Options(t, dir)
		db, err := sql.Open("pgx", o.URL)
		if err != nil {
			t.Fatal(err)
		}
		script := strings.Join(all[:have], "") + fmt.Sprintf(";UPDATE sallyport_schema SET version = %d;", have) +
			"INSERT INTO records VALUES ('task', 'before', 'p', '', 'x', 0, 9223372036854775807, nextval('versions'))"
		_, err = db.Exec(script)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		s := storetest.Open(t, o)
		if r, err := s.Get(t.Context(), store.Task, "before"); err != nil || string(r.Data) != "x" {
			t.Errorf("from version %d: got %+v, %v, want the row of before", have, r, err)
		}
		head := store.Record{ID: "chain", Expires: time.Now().Add(time.Hour)}
		for _, last := range []string{"2/aa", "1/bb"} {
			err = s.Change(t.Context(), store.Head, "one", []store.Record{head}, func([][]byte) ([][]byte, error) { return [][]byte{[]byte(last)}, nil })
		}
		if err == nil || !strings.Contains(err.Error(), "cannot be set back") {
			t.Errorf("from version %d: got %v, want the trigger of the last version", have, err)
		}
	}
}

func TestPostgres_refusesANewerSchema(t *testing.T) {
	s, _, dir := open(t)
	add(t, s, store.Record{ID: "a"})
	db, err := s.SQL(t.Context())
	if err == nil {
		_, err = db.Exec("UPDATE sallyport_schema SET version = 99")
	}
	if err != nil {
		t.Fatal(err)
	}
	err = storetest.Open(t, storetest.Options(t, dir)).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "has a schema of version 99, this program knows 4") {
		t.Errorf("got %v, want version 99 refused", err)
	}
}

func TestPostgres_neverShowsThePassword(t *testing.T) {
	const secret = "s3cr3t"
	for _, address := range []string{
		"postgres://me:" + secret + "@/none?host=/nonexistent", "postgres://me:" + secret + "@127.0.0.1:1/none", "postgres://me@127.0.0.1:1/none?password=" + secret,
		"postgres://me:" + secret + "@host:port/none", "postgres://me:" + secret + "@host/none?sslmode=" + secret, "mysql://me:" + secret + "@host", secret, "postgres://%zz" + secret,
	} {
		s := store.New(store.Options{URL: address})
		_, err := s.Get(t.Context(), store.Task, "x")
		if err = errors.Join(err, store.CheckURL(address), s.Close()); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, want an error without the password", address, err)
		}
	}
}

// A password is read from the file that ?passfile= names.
func TestPostgres_readsThePasswordFile(t *testing.T) {
	at := postgrestest.New(t)
	if out, err := at.SQL("owner", "ALTER ROLE owner PASSWORD 'right'"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := at.RequirePassword(); err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"right": true, "wrong": false} {
		file := filepath.Join(t.TempDir(), "pass")
		if err := os.WriteFile(file, []byte("*:*:*:owner:"+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := storetest.Open(t, store.Options{URL: at.URL("owner", "public") + "&passfile=" + url.QueryEscape(file)})
		if err := s.Check(t.Context()); (err == nil) != want {
			t.Errorf("password %s: got %v, want success %t", password, err, want)
		}
	}
}

// Names are data: with SQL, NUL, invalid UTF-8 and bytes of any order in them.
func TestPostgres_keepsHostileNames(t *testing.T) {
	s, _, _ := open(t)
	ctx := t.Context()
	for i, name := range []string{"'; DROP TABLE records; --", "a\x00b", "\xff\xfe", `\x41`, `\\`, "?", "$1", "ä\u0301", strings.Repeat("n", 1<<10)} {
		r := add(t, s, store.Record{ID: name, Principal: name, Label: name, Data: []byte(name)})
		got, err := s.Get(ctx, store.Task, name)
		if err != nil || got.ID != name || got.Principal != name || got.Label != name || string(got.Data) != name || got.Version != r.Version {
			t.Errorf("record %q: got %+v, %v, want it unchanged", name, got, err)
		}
		if list, err := s.List(ctx, store.Task, name, "", 0); len(list) != 1 || err != nil {
			t.Errorf("records of %q: got %v, %v, want one", name, list, err)
		}
		sp := store.Space{Plugin: name, Principal: name}
		large := bytes.Repeat([]byte{byte(i), 0, 0xff}, 1<<20/3)
		if err := s.Commit(ctx, sp, 2<<20, []store.Write{{Key: name, Value: large}, {Key: "other", Value: nil}}, nil); err != nil {
			t.Fatal(err)
		}
		if item, err := s.Value(ctx, sp, name); err != nil || !bytes.Equal(item.Value, large) {
			t.Errorf("key %q: got %d bytes, %v, want %d", name, len(item.Value), err, len(large))
		}
		if keys, err := s.Keys(ctx, sp, name, "", 9); len(keys) != 1 || err != nil || keys[0].Key != name {
			t.Errorf("keys from %q: got %v, %v, want one", name, keys, err)
		}
	}
}

// Bounds hold for transactions of several hosts at a time, and none of them fails for another reason.
func TestPostgres_boundsHoldUnderConcurrency(t *testing.T) {
	one, _, dir := open(t)
	o := storetest.Options(t, dir)
	hosts := []*store.Store{one, storetest.Open(t, o), storetest.Open(t, o)}
	const quota, workers, each = 1000, 12, 10
	var mu sync.Mutex
	tally := map[string]int{}
	note := func(what string, err error, allowed ...error) {
		mu.Lock()
		defer mu.Unlock()
		for _, a := range allowed {
			if errors.Is(err, a) {
				tally[what+" refused"]++
				return
			}
		}
		if tally[what]++; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	var work sync.WaitGroup
	for w := range workers {
		work.Go(func() {
			s, ctx := hosts[w%len(hosts)], context.Background()
			for i := range each {
				name := fmt.Sprintf("%d-%d", w, i)
				note("key", s.Commit(ctx, store.Space{Plugin: "p"}, quota, []store.Write{{Key: name, Value: make([]byte, 90)}}, nil), store.ErrFull)
				_, err := s.Ask(ctx, store.Question{ID: name, Plugin: "p", Effect: name, Expires: time.Now().Add(hour)})
				note("question", err, store.ErrCrowded)
				_, err = s.Add(ctx, store.Spent, store.Record{ID: fmt.Sprint("same", i), Principal: fmt.Sprint(w)})
				note("spent", err, store.ErrExists)
			}
		})
	}
	work.Wait()
	if tally["key"] != 10 || tally["question"] != store.MaxOfOne || tally["spent"] != each {
		t.Errorf("got %v, want 10 keys, %d questions and %d spent IDs", tally, store.MaxOfOne, each)
	}
}

// A host that waits is woken by a change of another one.
func TestPostgres_wakesOtherHosts(t *testing.T) {
	one, _, dir := open(t)
	other := storetest.Open(t, storetest.Options(t, dir))
	add(t, one, store.Record{ID: "first"})
	wake, stop := other.On()
	defer stop()
	<-wake // it listens
	r := add(t, one, store.Record{ID: "second"})
	<-wake
	if _, err := other.Get(t.Context(), store.Task, r.ID); err != nil {
		t.Errorf("after the notice: got %v, want the record", err)
	}
}

// Changes of one caller that wait for one another leave the connections to others.
func TestPostgres_aFloodOfOneCallerLeavesConnectionsToOthers(t *testing.T) {
	s := storetest.Open(t, storetest.Options(t, t.TempDir()))
	ctx, held, done := t.Context(), make(chan struct{}), make(chan struct{})
	change := func(principal string, f func()) error {
		return s.Change(ctx, store.Mail, principal, nil, func(data [][]byte) ([][]byte, error) {
			f()
			return data, nil
		})
	}
	var flood sync.WaitGroup
	flood.Go(func() {
		if err := change("token:ann", func() { close(held); <-done }); err != nil {
			t.Error(err)
		}
	})
	<-held
	var begun sync.WaitGroup
	for range 40 {
		begun.Add(1)
		flood.Go(func() {
			begun.Done()
			if err := change("token:ann", func() {}); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	if err := change("token:bob", func() {}); err != nil {
		t.Error(err)
	}
	close(done) // a transaction that was idle until then for as long as bob would wait is lost, which is an error above
	flood.Wait()
}

// Callers that give up in the middle of a change do not have the database count as lost for others.
func TestPostgres_changesThatAreGivenUpAreNoLoss(t *testing.T) {
	s := storetest.Open(t, storetest.Options(t, t.TempDir()))
	add(t, s, store.Record{ID: "kept"})
	var giving sync.WaitGroup
	over, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	for i := range 4 {
		giving.Go(func() {
			for n := 0; over.Err() == nil; n++ {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%40)*100*time.Microsecond)
				if n%2 == 0 {
					time.AfterFunc(time.Duration(n%40)*100*time.Microsecond, cancel)
				}
				list := []store.Record{{ID: fmt.Sprint("s/", i, "/", n), Data: make([]byte, 1<<10), Expires: time.Now().Add(time.Minute)}}
				_ = s.Append(ctx, store.Mail, fmt.Sprint("token:", i), list, nil)
				_, _ = s.Below(ctx, store.Mail, "s")
				cancel()
			}
		})
	}
	lost, all := 0, 0
	for ; over.Err() == nil; all++ {
		if _, err := s.Get(t.Context(), store.Task, "kept"); err != nil {
			lost++
		}
	}
	giving.Wait()
	if lost > 0 {
		t.Errorf("%d of %d reads found the database lost", lost, all)
	}
}
