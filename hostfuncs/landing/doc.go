// Package landing makes a set of changes to files last, all of them or none.
//
//	1 lock     a lock file for each path, in sorted order: landings of other calls and processes wait
//	2 check    what the call had read and then changed must still be so; else ErrConflict
//	3 plan     a record in the state folder says which temporaries there will be
//	4 prepare  temporaries beside their targets, on the disk; second names for what they replace
//	5 commit   one line at the end of the record, on the disk
//	6 apply    removals, then renames
//	7 forget   the second names, the record
//
// A process that dies before 5 leaves a record that Recover undoes, one that dies later leaves one that it
// finishes; both at the next start. While 6 runs another program may see some of the changes.
//
// With keys the line of 5 says that they decide: 6 is done while they are being kept, and if they were not, or nobody
// came to know whether they were, everything is put back. What is replaced or removed is there under its second name
// until 7, on a file system without hard links too.
//
// All work on files goes through folders that were opened before (os.Root), so nothing that is put in the
// way meanwhile leads it elsewhere. Mode and owner of a file that is replaced are kept.
package landing
