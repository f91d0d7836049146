// Package registry holds the loaded plugins: which are there, from which files, and how one version of a plugin
// replaces another without dropping a call.
//
//	folder, sources ──▶ settle ──▶ digest ──▶ manifest ──▶ catalogue ──▶ Snapshot ──▶ protocol
//	                                   │          │                        │
//	                                   └─ cache ──┘        module ◀── first call, or ahead of it
//
// A file is looked at once it has stopped changing, and is known by its SHA-256 digest from then on.
// What it offers comes from its custom section "sallyport.manifest", or from asking the plugin with
// no grants at all. Each change makes a new Snapshot, which never changes and is read without locks:
//
//	r, err := registry.New(ctx, registry.Options{Dir: "plugins", Engine: engine, Host: host})
//	tool, ok := r.Snapshot().Tool("time-now")
//	result, err := tool.Call(ctx, catalogue.Call{ID: "1", Params: params})
//
// A plugin that cannot be loaded is reported (Registry.Plugins, the log, and the resource
// sallyport://plugins) and never holds up another. When a file is replaced, calls that run finish on
// the old module; when the replacement is broken, the old module goes on serving and the status says so.
//
// Which plugin publishes what is decided in package catalogue. Below are the parts that know nothing of it: folder tells
// which file to look at, module what it holds, manifest what it offers, names what that is called.
//
// This package is not promised to others; it may change with any version.
package registry
