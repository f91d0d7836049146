// Package parked suspends modern calls to plugins with kept state. Such a call cannot be replayed, so its instance
// waits at the question between requests, and the request with the answers continues it.
//
//	first request ──▶ Lot.Begin ──▶ Call.Wait ──▶ the plugin asks ──▶ the request ends with the questions
//	                                                     │ waits
//	next request ───▶ Lot.Take ───▶ Call.GoOn ──▶ Call.Wait ──▶ … ──▶ the result
//
// The newest request is the client of the call. A call without a next request is ended after a time limit.
//
// This package is internal to Sallyport and may change.
package parked
