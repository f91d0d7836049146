// Package parked is for calls of the modern era whose plugin keeps its state. Such a call cannot be run again from its
// start, so it waits where it asked while no request is there, and the request that brings the answers goes on with it.
//
//	first request ──▶ Lot.Begin ──▶ Call.Wait ──▶ the plugin asks ──▶ the request ends with the questions
//	                                                     │ waits
//	next request ───▶ Lot.Take ───▶ Call.GoOn ──▶ Call.Wait ──▶ … ──▶ the result
//
// To the call its client is whichever request is the newest. A call that nobody comes back to ends.
//
// This package is internal to Sallyport and may change.
package parked
