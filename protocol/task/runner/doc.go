// Package runner runs tasks: those opened in this process, and adopted orphans of other processes.
//
//	Open ──▶ book ──▶ Run, which whoever made the runner brings ──▶ what came of it ──▶ book
//	                   │   ▲                                   └──▶ questions ──▶ book, and nothing runs
//	                   └───┘ Ask: a kept task waits in its instance                 Answer runs it again
//
// An orphan is resumed from its journal (see Journal) by the first process with the same store that finds it. A
// kept task, which has plugin state in its instance, is lost with its process.
//
// This package is internal to Sallyport and may change.
package runner
