//go:build !linux && !darwin

package registry

import (
	"os"
	"runtime"
)

// foldsCase says whether file names that differ in case only are usually the same file.
const foldsCase = runtime.GOOS == "windows"

// identify knows no inodes here: the path stands for the file.
func (s *stamp) identify(os.FileInfo) bool { return false }

// beingWritten cannot be found out here.
func beingWritten(*os.File) bool { return false }
