// Package temp adds a private folder for temporary files to the file system of a call. The folder is in memory: it is
// empty when the call begins, no other call sees it, and it is gone when the call ends.
//
//	guest ── /temp/a ──▶ Tree ── nodes in memory
//	         other paths ──▶ the Tree below it
//
// The folder is named by the beginning of a path, before links are followed: a link elsewhere does not lead into it.
// It has no symbolic links, so none leads out of it, and no object moves across its border (EXDEV). Writes beyond its
// limits return ENOSPC.
package temp
