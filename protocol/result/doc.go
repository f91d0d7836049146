// Package result validates plugin results, cleans them for clients and cuts those over the limit, and describes
// failures.
//
//	raw ──▶ Tool, Prompt, Resource, Completion ──▶ object ──▶ Readable ──▶ Cut
//	        shape · output schema · text · icons · _meta                    └─▶ Shelf keeps the whole
//
// Contents are opaque: only violations are edited, and unknown members survive byte for byte. Plugin output is not
// trusted: every byte of it is checked by a function of this package before it is sent. A contract violation is a
// *ShapeError; its text addresses plugin authors.
//
// A Failure says why a call has no result:
//
//	the model       one sentence, the denied effect, and the line that would allow it     Text, Hints.Block
//	a program       kind, retryable and retry delay, in _meta under ErrorMeta              Failure.Data
//	the operator    everything: guest stack, standard error, cause                         Failure.Log
//
// Operator details are only in the log. All three share the call id.
package result
