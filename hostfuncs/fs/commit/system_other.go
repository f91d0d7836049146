//go:build !unix

package commit

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func syncFolder(*os.Root, string) error { return nil }

func syncDir(string) error { return nil }
