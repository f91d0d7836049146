// Package answer validates plugin results, cleans them for clients and cuts those over the limit.
//
//	raw ──▶ Tool, Prompt, Resource, Completion ──▶ object ──▶ Readable ──▶ Cut
//	        shape · output schema · text · icons · _meta                    └─▶ Shelf keeps the whole
//
// Contents are opaque: only violations are edited, and unknown members survive byte for byte. Plugin output is not
// trusted: every byte of it is checked by a function of this package before it is sent.
//
// A contract violation is a *ShapeError; its text addresses plugin authors.
//
// This package is internal to Sallyport and may change.
package answer
