//go:build !unix

package codecache

import "io/fs"

// hasFileModes reports whether permission bits control write access. On this system the folder's access list does,
// which a user's own cache folder inherits from the profile.
const hasFileModes = false

func ownedByUs(fs.FileInfo) bool { return true }
