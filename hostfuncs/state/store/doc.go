// Package store persists the state of Sallyport across calls and runs: one SQLite file in the state folder, shared by
// any number of processes, or one PostgreSQL database, shared by machines.
//
//	serve ─┐                     ┌ values    kv of each plugin and principal
//	serve ─┼─▶ state.db (WAL) ───┼ records   tasks, kept results, replies by key, spent ids, journals; in PostgreSQL
//	       │                     │           approvals, approved bytes and heads of audit logs
//	allow ─┘                     └ questions and grants: what an operator is asked, and answered
//
// A Store opens its file on first use. Reading creates no file, so that a host whose plugins store nothing has no
// cost:
//
//	s := store.New(store.Options{Dir: dir})
//	defer s.Close()
//	r, err := s.Add(ctx, store.Task, store.Record{ID: id, Principal: who, Data: data, Expires: soon})
//
// Both engines run the same statements. Written data is durable when the method returns. Expired data is invisible, and
// removed by a later write. Every kind is bounded for each principal.
package store
