// Package answer is what a plugin answered, on its way to a client: its shape is held against MCP, what a client must
// not be told is taken out, and what is too large is cut.
//
//	raw ──▶ Tool, Prompt, Resource, Completion ──▶ object ──▶ Readable ──▶ Cut
//	        shape · output schema · text · icons · _meta                    └─▶ Shelf keeps the whole
//
// Contents are not ours: only what is wrong is edited, and members that this package does not know survive as the
// bytes they were. What a plugin answers is still not trusted: none of its bytes leaves that no function here has
// looked at.
//
// An answer that breaks the contract is a *ShapeError, whose text is for people who write plugins.
//
// This package is internal to Sallyport: it is not promised to others.
package answer
