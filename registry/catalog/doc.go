// Package catalog computes the tools, prompts, resources and templates that clients see, under names unique to one
// plugin.
//
//	manifest ──▶ Publish ──▶ Offer ──┐
//	manifest ──▶ Publish ──▶ Offer ──┼──▶ Join ──▶ Snapshot ──▶ Tool.Run ──▶ Server
//	manifest ──▶ Publish ──▶ Offer ──┘
//
// Publish selects the entries that one plugin offers, from the operator's publish and hide lines, the plugin's own
// visibility and the approved definitions. Join merges the offers of all plugins; an entry claimed by two plugins is
// withheld from both, independent of load order. A Snapshot is immutable and is read without locks:
//
//	offer := catalog.Publish(catalog.Plugin{Name: "time", Manifest: m, Prefix: true, Server: server})
//	s := catalog.Join([]*catalog.Offer{offer}, tell)
//	tool, ok := s.Tool("time-now")
//	result, err := tool.Call(ctx, catalog.Call{ID: "1", Params: params})
//
// Calls are executed by the plugin's Server. This package maps public names to the plugin's local names and leaves the
// rest of a request unchanged.
package catalog
