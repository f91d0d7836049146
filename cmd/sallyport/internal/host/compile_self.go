package host

import "os"

// start is this program's file at process start.
var startedFrom = executableOf(os.Executable())

// file is a file name and the file's state; info is nil if unknown.
type executable struct {
	name string
	info os.FileInfo
}

func executableOf(name string, err error) executable {
	if err != nil {
		return executable{}
	}
	info, err := os.Stat(name)
	if err != nil {
		return executable{}
	}
	return executable{name, info}
}

// program returns a path that runs this same program again, false if none is certain. Its name may denote a different
// program by now, from an update or a plugin.
func program() (path string, same bool) {
	if running != "" {
		if _, err := os.Stat(running); err == nil {
			return running, true
		}
	}
	return startedFrom.name, startedFrom.same()
}

// same reports whether the file is unchanged.
func (f executable) same() bool {
	now, err := os.Stat(f.name)
	return err == nil && f.info != nil && os.SameFile(f.info, now) && now.Size() == f.info.Size() && now.ModTime().Equal(f.info.ModTime())
}
