// Package failure is why a call of a plugin gave no answer, as it is told to those who have to know.
//
//	the model       one sentence, what the gate refused, and the line that would allow it     Text, Hints.Block
//	a program       its kind, and whether and when to try again, in _meta under Meta           Failure.Data
//	the operator    everything: the guest's stack, its standard error, the cause               Failure.Log
//
// What only the operator may see is in the log alone: the call's id, which all three have, leads there.
//
// This package is internal to Sallyport: it is not promised to others.
package failure
