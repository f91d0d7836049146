// Package listing caches rendered list pages and tool metadata per catalog snapshot, for both eras.
//
//	Views.For(catalog, caller) ──▶ View ──▶ List.Page(cursor, modern) ──▶ the bytes of a result
//
// A View is immutable. The first request after a catalog change builds a new one, and concurrent requests wait
// for it.
package listing
