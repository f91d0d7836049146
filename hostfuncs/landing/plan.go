package landing

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// op is one change as the record holds it: enough to finish or undo it without the process that began.
//
//	a new one       Temp ─▶ Name
//	in place of it  Backup = second name of Name, Temp ─▶ Name; without second names as below
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
	Made   []string `json:"made,omitempty"`   // what is in a folder that comes
	Was    *mark    `json:"was,omitempty"`    // what was at Name; nil for nothing
	Touch  *touch   `json:"touch,omitempty"`

	made   *mark // what is at Temp, once that is whole
	change *Change
	root   *os.Root // open while this process works on it
}

// mark tells by and large whether a file is the one that it was.
type mark struct {
	Dir   bool  `json:"dir,omitempty"` // then the rest says nothing
	Size  int64 `json:"size"`
	Mtime int64 `json:"mtime"` // nanoseconds since 1970
}

// is reports whether a file is the one of the mark; nil is that of none.
func (m *mark) is(now fs.FileInfo) bool {
	is := markOf(now)
	return m != nil && is != nil && *m == *is
}

// touch is times in nanoseconds since 1970.
type touch struct {
	Access int64 `json:"access"`
	Modify int64 `json:"modify"`
	Before int64 `json:"before"` // Modify as it was
}

func (t *touch) times() (access, modify time.Time) {
	return time.Unix(0, t.Access), time.Unix(0, t.Modify)
}

// before are the times that undo a touch: the system does not say when a file was read.
func (t *touch) before() (access, modify time.Time) { return time.Time{}, time.Unix(0, t.Before) }

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
		o.Temp, o.Made = tag, within("", c.Put, nil)
	}
	if now != nil {
		o.Backup = tag + "-was"
		o.Away = c.Remove || now.IsDir() || c.Put.Dir
	}
	return o, nil
}

// within lists what is in a new folder, each folder before what it holds.
func within(dir string, e *Entry, list []string) []string {
	for _, c := range e.Children {
		name := filepath.Join(dir, c.Name)
		list = within(name, c.Entry, append(list, name))
	}
	return list
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
	before := now.ModTime().UnixNano()
	at := touch{Access: before, Modify: before, Before: before}
	if t.Access != nil {
		at.Access = t.Access.UnixNano()
	}
	if t.Modify != nil {
		at.Modify = t.Modify.UnixNano()
	}
	return &at
}
