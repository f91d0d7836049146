package compiler

import "os"

// start is this program's file at process start.
var start = fileOf(os.Executable())

// file is a file name and the file's state; info is nil if unknown.
type file struct {
	name string
	info os.FileInfo
}

func fileOf(name string, err error) file {
	if err != nil {
		return file{}
	}
	info, err := os.Stat(name)
	if err != nil {
		return file{}
	}
	return file{name, info}
}

// program returns a path that runs this same program again, false if none is certain. Its name may denote a different
// program by now, from an update or a plugin.
func program() (path string, same bool) {
	if running != "" {
		if _, err := os.Stat(running); err == nil {
			return running, true
		}
	}
	return start.name, start.same()
}

// same reports whether the file is unchanged.
func (f file) same() bool {
	now, err := os.Stat(f.name)
	return err == nil && f.info != nil && os.SameFile(f.info, now) && now.Size() == f.info.Size() && now.ModTime().Equal(f.info.ModTime())
}
