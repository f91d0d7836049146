//go:build !unix

package codecache

import "io/fs"

// hasFileModes tells whether permission bits say who may write. Here the folder's access list
// does, which a user's own cache folder inherits from the profile.
const hasFileModes = false

func ownedByUs(fs.FileInfo) bool { return true }
