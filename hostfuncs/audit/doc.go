// Package audit writes down what every call did, so that nobody can take a line out or change one without
// being found out.
//
//	audit/key                        32 bytes that MAC the lines, its owner's only
//	audit/20260102T150405-12-ab.log  one process's chain, and -0002.log … when a file is full
//	audit/20260102T150405-12-ab.head the number and MAC of its last line on the disk
//	audit/20260102T150405-12-ab.lock locked while its process writes
//	audit/cut                        the last line of each chain that retention removed, sealed with the key
//
// A line is one JSON object. "n" counts the lines of the chain from 1 and "mac", always last, is
// HMAC-SHA256(key, MAC of the line before ∥ the line without its mac). Each process writes a chain of its
// own, so that none waits for another; the first line of a chain names the chains whose heads are the newest,
// which is how Verify finds a file that is gone.
//
// Lines are written in batches. Every second they, and then the head, are brought to the disk; Sync does so
// at once. After a crash a chain may lack the last second's lines, and one line may be torn: Verify says so and
// cannot tell it from a cut. Who holds the key can write a chain anew; receipts that clients keep hold a
// line's number and MAC, and contradict that.
package audit
