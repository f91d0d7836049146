// Package failure describes why a plugin call failed, for the model, for programs and for the operator.
//
//	the model       one sentence, the denied effect, and the line that would allow it     Text, Hints.Block
//	a program       kind, retryable and retry delay, in _meta under Meta                   Failure.Data
//	the operator    everything: guest stack, standard error, cause                         Failure.Log
//
// Operator details are only in the log. All three share the call id.
//
// This package is internal to Sallyport and may change.
package failure
