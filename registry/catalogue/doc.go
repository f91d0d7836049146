// Package catalogue holds what the plugins publish together: the tools, prompts, resources and templates that
// clients see, under names that belong to one plugin each.
//
//	manifest ──▶ Publish ──▶ Offer ──┐
//	manifest ──▶ Publish ──▶ Offer ──┼──▶ Join ──▶ Snapshot ──▶ Tool.Call ──▶ Server
//	manifest ──▶ Publish ──▶ Offer ──┘
//
// Publish decides what one plugin offers: what the operator publishes and hides, what the plugin itself shows, what was
// approved. Join puts the offers of all plugins together; what two of them claim is held back for both, in whatever
// order they come. A Snapshot never changes, and is read without locks:
//
//	offer := catalogue.Publish(catalogue.Plugin{Name: "time", Manifest: m, Prefix: true, Server: server})
//	s := catalogue.Join([]*catalogue.Offer{offer}, tell)
//	tool, ok := s.Tool("time-now")
//	result, err := tool.Call(ctx, catalogue.Call{ID: "1", Params: params})
//
// How a plugin answers is its Server's affair. This package turns public names into the plugin's own and leaves the
// rest of a request as it is.
//
// This package is not promised to others; it may change with any version.
package catalogue
