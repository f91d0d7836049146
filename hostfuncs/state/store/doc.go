// Package store is what Sallyport keeps between calls and runs: one SQLite file in the state folder, which
// any number of processes have open at once.
//
//	serve ─┐                     ┌ values    kv of each plugin and principal
//	serve ─┼─▶ state.db (WAL) ───┼ records   tasks, kept results, replies by key, spent ids, journals
//	allow ─┘                     └ questions and grants: what an operator is asked, and answered
//
// A Store opens its file at the first use, and a question about what was never written makes none, so that
// a host whose plugins keep nothing pays nothing:
//
//	s := store.New(store.Options{Dir: dir})
//	defer s.Close()
//	err := s.Add(ctx, store.Task, store.Record{ID: id, Principal: who, Data: data, Expires: soon})
//
// Everything that is written is on the disk when the method returns. Expired things are not there any more,
// and are removed by whoever writes later. Every kind is bounded for each principal.
//
// This package is internal to Sallyport: it is not promised to others.
package store
