package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

// benchStores measures the same host with a store in a file, and one, two and three replicas of it in turn with one in
// PostgreSQL: a call that needs no store, and one with a question, which notes in the store that its state was used. All
// share these cores, so that replicas have a cost and no gain. The PostgreSQL server does not wait for the disk: its rows
// are the cost of the way to it.
func benchStores(ctx context.Context, o options) (rows []row, err error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sallyport-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	database, err := postgrestest.Start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	host, err := newQuestionHost(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { host.close() }()
	serve := func(options store.Options) string {
		kept := store.New(options)
		s := protocol.NewServer(host.registry, &protocol.Options{Name: "bench", Store: kept})
		h := httptest.NewServer(streamable.NewHandler(s, &streamable.Options{Path: "/mcp"}))
		closeHost := host.close
		host.close = func() {
			h.Close()
			_ = errors.Join(s.Close(ctx), kept.Close())
			closeHost()
		}
		return h.URL + "/mcp"
	}
	file := serve(store.Options{Dir: filepath.Join(dir, "file")})
	var replicas []string
	for range 3 {
		replicas = append(replicas, serve(store.Options{URL: database.URL("owner", "public")}))
	}
	return storeRows(o, [][]string{{file}, replicas[:1], replicas[:2], replicas})
}

// storeRows measures sets of hosts in turn, each with its calls in turn.
func storeRows(o options, sets [][]string) (rows []row, err error) {
	for _, call := range []struct {
		name, note string
		do         func(url string) error
	}{
		{"store_unused", "a call that needs no store", func(url string) error { _, err := postQuestion(url, nil); return err }},
		{"store_ask", "a call with one question, both requests", func(url string) error { _, err := callWithQuestion(url); return err }},
	} {
		times := make([][]float64, len(sets))
		for range o.rounds {
			for i, urls := range sets {
				begun, n := time.Now(), 0
				for ; time.Since(begun) < o.slice; n++ {
					if err := call.do(urls[n%len(urls)]); err != nil {
						return nil, err
					}
				}
				times[i] = append(times[i], float64(time.Since(begun).Microseconds())/float64(n))
			}
		}
		rows = append(rows, row{Name: call.name + "_file_us", Value: median(times[0]), Unit: "µs", note: call.note + ", with the store in a file"})
		for i, of := range times[1:] {
			r := ratios(of, times[0])
			rows = append(rows,
				row{Name: fmt.Sprintf("%s_postgres_%d_us", call.name, i+1), Value: median(of), Unit: "µs", note: fmt.Sprintf("%d replicas on PostgreSQL", i+1)},
				row{Name: fmt.Sprintf("%s_postgres_%d_over_file", call.name, i+1), Value: median(r), Unit: "×", note: spread(r)})
		}
	}
	return rows, nil
}
