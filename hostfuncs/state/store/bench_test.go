package store_test

import (
	"strconv"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
)

// BenchmarkStore measures the operations of a call: on SQLite, and with the tag postgres on PostgreSQL.
func BenchmarkStore(b *testing.B) {
	s := storetest.Open(b, storetest.Options(b, b.TempDir()))
	ctx, sp := b.Context(), store.Space{Plugin: "p"}
	n := 0
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"add", func() error {
			n++
			_, err := s.Add(ctx, store.Spent, store.Record{ID: strconv.Itoa(n), Data: []byte("x")})
			return err
		}},
		{"get", func() error { _, err := s.Get(ctx, store.Spent, "1"); return err }},
		{"commit", func() error {
			return s.Commit(ctx, sp, 1<<20, []store.Write{{Key: "k", Value: []byte("1")}}, nil)
		}},
		{"value", func() error { _, err := s.Value(ctx, sp, "k"); return err }},
		{"grants", func() error { _, err := s.Grants(ctx); return err }},
	} {
		b.Run(op.name, func(b *testing.B) {
			for b.Loop() {
				if err := op.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
