// Package audit records the effects of every call in a tamper-evident log: removed or changed lines are detected.
//
//	audit/key                        32 bytes that MAC the lines, owner-only
//	audit/20260102T150405-12-ab.log  one process's chain, and -0002.log … when a file is full
//	audit/20260102T150405-12-ab.head the number and MAC of its last line on disk
//	audit/20260102T150405-12-ab.lock locked while its process writes
//	audit/cut                        the last line of each chain that retention removed, sealed with the key
//
// A line is one JSON object. "n" counts the lines of the chain from 1, and "mac", always last, is HMAC-SHA256(key,
// MAC of the line before ∥ the line without its mac). Each process writes its own chain, so that none waits for
// another. The first line of a chain names the chains with the newest heads, from which Verify detects a missing
// file.
//
// Lines are written in batches. Every second the lines, and then the head, are flushed to disk. Sync does so at once.
// After a crash the last second's lines may be missing and one line may be torn: Verify reports both and cannot tell
// them from a truncation. With Heads a database has the head of each chain too, which proves lines that a disk has
// lost. A holder of the key can forge a whole chain, but receipts that clients keep contain a
// line's number and MAC, and contradict the forgery.
package audit
