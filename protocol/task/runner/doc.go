// Package runner runs tasks: those opened in this process, and adopted orphans of other processes.
//
//	Open ──▶ book ──▶ Options.Run ──▶ outcome ──▶ book
//	                   │   ▲     └──▶ questions ──▶ book, suspended ──▶ Answer runs it again
//	                   └───┘ Ask: a kept task waits in its instance
//
// An orphan is resumed from its journal (see Journal) by the first process with the same store that finds it. A
// kept task, which has plugin state in its instance, is lost with its process.
package runner
