// Package runner runs tasks: in this process those that began here, and those whose process has gone.
//
//	Open ──▶ book ──▶ Run, which whoever made the runner brings ──▶ what came of it ──▶ book
//	                   │   ▲                                   └──▶ questions ──▶ book, and nothing runs
//	                   └───┘ Ask: a kept task waits in its instance                 Answer runs it again
//
// A task that its process left behind is taken up where it was (see Journal) by the first process with the same store
// that finds it; a kept one, which has its plugin's state, is lost with its process.
//
// This package is internal to Sallyport and may change.
package runner
