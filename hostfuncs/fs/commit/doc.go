// Package commit applies a set of changes to files: all of them or none.
//
//	1 lock     a lock file for each path, in sorted order: landings of other calls and processes wait
//	2 check    files that the call read and then changed must be unchanged; else ErrConflict
//	3 plan     a record in the state folder lists the temporaries
//	4 prepare  temporaries beside their targets, flushed to disk; hard links to the files that they replace
//	5 commit   one line at the end of the record, flushed to disk
//	6 apply    removals, then renames
//	7 forget   the backups, then the record
//
// Recover, at the next start, undoes the record of a process that died before step 5, and finishes that of a process
// that died later. During step 6 another program may see some of the changes.
//
// With keys, the line of step 5 says that the keys decide: step 6 runs while they are being kept. If they were not
// kept, all changes are undone. If this is unknown, Recover decides at the next start. A replaced or removed file is
// available under its backup name until step 7, on a file system without hard links too.
//
// All file operations go through folders that were opened before (os.Root), so that no link placed meanwhile can
// redirect them. A replaced file keeps its mode and owner.
package commit
