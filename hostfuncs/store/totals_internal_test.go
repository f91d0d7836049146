package store

import (
	"strconv"
	"testing"
	"time"
)

// The totals that bounds are held by are what counting would find, whatever was added, changed and removed.
func TestTotals(t *testing.T) {
	s := New(Options{Dir: t.TempDir()})
	defer s.Close()
	ctx := t.Context()
	for i := range 50 {
		who := strconv.Itoa(i % 3)
		r, err := s.Add(ctx, Task, Record{ID: strconv.Itoa(i), Principal: who, Data: make([]byte, i), Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		switch i % 5 {
		case 1:
			err = s.Remove(ctx, Task, r.ID)
		case 2:
			r.Data = make([]byte, 2*i)
			_, err = s.Replace(ctx, Task, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := s.reader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var wrong int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT kind, principal, count(*) AS n, sum(length(data)) AS b FROM records GROUP BY kind, principal) AS r
		FULL JOIN totals AS t ON r.kind = t.kind AND r.principal = t.principal WHERE n IS NOT t.count OR b IS NOT t.bytes`).Scan(&wrong)
	if err != nil || wrong != 0 {
		t.Errorf("%d totals are wrong, %v", wrong, err)
	}
}
