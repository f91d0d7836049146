package compiler

import "os"

// start is this program's file as it was when the process began.
var start = fileOf(os.Executable())

// file is a file by name, and how it was; info is nil if that is not known.
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

// program is a path that starts this very program once more, false if none is sure to. By its name another program may
// be found by now: one that an update put there, or a plugin.
func program() (path string, same bool) {
	if running != "" {
		if _, err := os.Stat(running); err == nil {
			return running, true
		}
	}
	return start.name, start.same()
}

// same reports whether the file still is as it was.
func (f file) same() bool {
	now, err := os.Stat(f.name)
	return err == nil && f.info != nil && os.SameFile(f.info, now) && now.Size() == f.info.Size() && now.ModTime().Equal(f.info.ModTime())
}
