package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

// The totals equal the sums over the records after any change.
func TestTotals_equalSumsOfRecords(t *testing.T) {
	s, c, _ := open(t)
	ctx := t.Context()
	for i := range 50 {
		who := strconv.Itoa(i % 3)
		r, err := s.Add(ctx, store.Task, store.Record{ID: strconv.Itoa(i), Principal: who, Data: make([]byte, i), Expires: c.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		switch i % 5 {
		case 1:
			err = s.Remove(ctx, store.Task, r.ID)
		case 2:
			r.Data = make([]byte, 2*i)
			_, err = s.Replace(ctx, store.Task, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := s.SQL(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var wrong int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT kind, principal, count(*) AS n, sum(length(data)) AS b FROM records GROUP BY kind, principal) AS r
		FULL JOIN totals AS t ON r.kind = t.kind AND r.principal = t.principal WHERE n IS DISTINCT FROM t.count OR b IS DISTINCT FROM t.bytes`).Scan(&wrong)
	if err != nil || wrong != 0 {
		t.Errorf("got %d wrong totals, %v, want none", wrong, err)
	}
}

// The total of a space equals the sum over its keys. Expired keys do not count toward the quota.
func TestTotals_ofKeys(t *testing.T) {
	s, c, _ := open(t)
	random := rand.New(rand.NewPCG(1, 2))
	const quota = 4000
	full := 0
	for i := range 600 {
		c.Pass(time.Second)
		sp := store.Space{Plugin: strconv.Itoa(i % 2), Principal: strconv.Itoa(i % 3)}
		var writes []store.Write
		for range random.IntN(4) {
			w := store.Write{Key: "ключ"[:2*random.IntN(5)] + strconv.Itoa(random.IntN(20)), Value: make([]byte, random.IntN(300)), Delete: random.IntN(4) == 0}
			if random.IntN(3) == 0 {
				w.Expires = c.Now().Add(time.Duration(random.IntN(100)) * time.Second)
			}
			writes = append(writes, w)
		}
		err := s.Commit(t.Context(), sp, quota, writes, nil)
		if errors.Is(err, store.ErrFull) {
			full++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	db, err := s.SQL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wrong, over int
	err = errors.Join(
		db.QueryRow("SELECT count(*) FROM (SELECT plugin, principal, count(*) AS n, sum("+bytesOf("key")+" + length(value)) AS b FROM kv GROUP BY plugin, principal) AS k "+`
			FULL JOIN kv_totals AS t ON k.plugin = t.plugin AND k.principal = t.principal WHERE n IS DISTINCT FROM t.count OR b IS DISTINCT FROM t.bytes`).Scan(&wrong),
		db.QueryRow(fmt.Sprint("SELECT count(*) FROM kv_totals WHERE bytes > ", quota)).Scan(&over))
	if err != nil || wrong != 0 || over != 0 || full == 0 {
		t.Errorf("got %d wrong totals, %d over the quota, %d full, %v, want 0, 0, 1 or more", wrong, over, full, err)
	}
}

// bytesOf is the expression for a column as bytes, which texts are in PostgreSQL.
func bytesOf(column string) string {
	if storetest.Postgres {
		return "length(" + column + ")"
	}
	return "length(CAST(" + column + " AS BLOB))"
}
