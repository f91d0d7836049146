// Package registry loads the plugins of a folder and of this process, publishes them as catalog snapshots, and
// replaces versions of a plugin without dropping a call.
//
//	folder, sources ──▶ settle ──▶ digest ──▶ manifest ──▶ catalog ──▶ Snapshot ──▶ protocol
//	                                   │          │                        │
//	                                   └─ cache ──┘        plugin ◀── first call, or ahead of it
//
// A file is read once it has stopped changing, and is identified by its SHA-256 digest from then on. Its manifest comes
// from its custom section "sallyport.manifest", or from running the plugin without grants. Each change makes a new
// Snapshot, which is immutable and read without locks:
//
//	r, err := registry.New(ctx, registry.Options{Dir: "plugins", Engine: engine, Host: host})
//	tool, ok := r.Snapshot().Tool("time-now")
//	result, err := tool.Call(ctx, catalog.Call{ID: "1", Params: params})
//
// A plugin that cannot be loaded is reported (Registry.Plugins, the log, and the resource sallyport://plugins) and
// never delays others. When a file is replaced, running calls finish on the old module. If the replacement is broken,
// the old module continues to serve and the status reports it.
//
// A Registry has these parts:
//
//   - inputs: the settings, files and built-in code, under the lock that a computation of the catalog holds
//   - loader and watcher: files are read, compiled, and read again after a change
//   - planner and approver: the plugins that should exist, and the bytes of each that may serve
//   - assembler: plans become serving generations, and those the published catalog
//   - keeper: approved bytes are copied, and the lock file is written
//   - publisher: the present snapshot, the status, and the watchers of changes
//
// The lock of the inputs is taken first, then that of the keeper, then those of other packages.
//
// Package catalog decides which plugin publishes which entry, and plugin compiles files and serves calls. Below are
// packages that do not depend on them: folder selects the files to read, manifest parses the offered entries and derives
// their names, document reads plugins without code, extismfile reads Extism manifests.
package registry
