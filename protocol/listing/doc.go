// Package listing is what is made of a state of the catalogue once, so that it need not be made for each request: the
// lists in pages, for both eras, and what calls want to know of the tools.
//
//	Views.Of(catalog) ──▶ View ──▶ List.Page(cursor, modern) ──▶ the bytes of a result
//
// A View never changes. The first request after a change of the catalogue waits for a new one; all others take what
// is there.
//
// This package is internal to Sallyport and may change.
package listing
