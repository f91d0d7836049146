package landing

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// op is one change as the record holds it: enough to finish or undo it without the process that began.
//
//	a new one       Temp ─▶ Name
//	in place of it  Backup = second name of Name, Temp ─▶ Name
//	removed         Name ─▶ Backup
//	a folder goes   Name ─▶ Backup, Temp ─▶ Name if something else comes
//
// In the end Backup goes, with what a folder is known to hold.
type op struct {
	Folder string   `json:"folder"` // absolute, without links
	Name   string   `json:"name"`
	Temp   string   `json:"temp,omitempty"`
	Backup string   `json:"backup,omitempty"`
	Away   bool     `json:"away,omitempty"`   // what is at Name goes to Backup
	Inside []string `json:"inside,omitempty"` // what is to be removed in a folder that goes
	Was    *mark    `json:"was,omitempty"`    // what was at Name; nil for nothing
	Touch  *touch   `json:"touch,omitempty"`

	change *Change
	root   *os.Root // open while this process works on it
}

// mark tells by and large whether a file is the one that it was.
type mark struct {
	Dir   bool  `json:"dir,omitempty"` // then the rest says nothing
	Size  int64 `json:"size"`
	Mtime int64 `json:"mtime"` // nanoseconds since 1970
}

type touch struct {
	Access int64 `json:"access"` // nanoseconds since 1970
	Modify int64 `json:"modify"`
}

// plan makes the list of what is to be done, and names the temporaries.
func (l *landing) plan() error {
	going := map[string]*op{} // the folders that go, by path
	for i := range l.changes {
		c := &l.changes[i]
		if c.Remove && insideOf(going, c.Path) {
			continue
		}
		o, err := planOne(c, Prefix+l.id+"-"+strconv.Itoa(i))
		if err != nil {
			return &PathError{c.Path, err}
		}
		if o == nil {
			continue
		}
		l.ops = append(l.ops, o)
		if o.Away && o.Was.Dir {
			going[c.Path] = o
		}
	}
	return nil
}

// insideOf leaves what is removed in a folder that goes to the folder.
func insideOf(going map[string]*op, path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if o := going[dir]; o != nil {
			o.Inside = append(o.Inside, path[len(dir)+1:])
			return true
		}
	}
	return false
}

// planOne returns what is to be done for one change, nil for nothing.
func planOne(c *Change, tag string) (*op, error) {
	now, err := stat(c.Folder, c.Name)
	if err != nil {
		return nil, err
	}
	o := &op{Folder: filepath.Dir(c.Path), Name: c.Name, Was: markOf(now), root: c.Folder, change: c}
	switch {
	case c.Put == nil && now == nil:
		return nil, nil // gone already
	case c.Touch != nil:
		o.Touch = touchOf(c.Touch, now)
		return o, nil
	case c.Put != nil:
		o.Temp = tag
	}
	if now != nil {
		o.Backup = tag + "-was"
		o.Away = c.Remove || now.IsDir() || c.Put.Dir
	}
	return o, nil
}

func markOf(info fs.FileInfo) *mark {
	switch {
	case info == nil:
		return nil
	case info.IsDir():
		return &mark{Dir: true}
	}
	return &mark{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
}

func touchOf(t *Times, now fs.FileInfo) *touch {
	at := touch{Access: now.ModTime().UnixNano(), Modify: now.ModTime().UnixNano()}
	if t.Access != nil {
		at.Access = t.Access.UnixNano()
	}
	if t.Modify != nil {
		at.Modify = t.Modify.UnixNano()
	}
	return &at
}
