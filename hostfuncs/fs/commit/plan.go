package commit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// op is one change as the record holds it: enough to finish or undo it without the process that began.
//
//	create          Temp ─▶ Name
//	replace         Backup = hard link of Name, Temp ─▶ Name; without hard links as below
//	remove          Name ─▶ Backup
//	replace folder  Name ─▶ Backup, Temp ─▶ Name if there is a new object
//
// In the end Backup is removed, with those entries of a folder that are listed in Inside.
type op struct {
	Folder string   `json:"folder"` // absolute, without links
	Name   string   `json:"name"`
	Temp   string   `json:"temp,omitempty"`
	Backup string   `json:"backup,omitempty"`
	Away   bool     `json:"away,omitempty"`   // the object at Name is moved to Backup
	Inside []string `json:"inside,omitempty"` // entries to remove in a folder that is removed
	Made   []string `json:"made,omitempty"`   // entries of a folder that is created
	Was    *mark    `json:"was,omitempty"`    // the object at Name; nil for none
	Touch  *touch   `json:"touch,omitempty"`

	made   *mark // the object at Temp, once it is complete
	change *Change
	root   *os.Root // open while this process works on it
}

// mark identifies the state of a file by size and modification time.
type mark struct {
	Dir   bool  `json:"dir,omitempty"` // then the other fields are zero
	Size  int64 `json:"size"`
	Mtime int64 `json:"mtime"` // nanoseconds since 1970
}

// is reports whether a file matches the mark. A nil mark or file matches nothing.
func (m *mark) is(now fs.FileInfo) bool {
	is := markOf(now)
	return m != nil && is != nil && *m == *is
}

// touch is a change of times, in nanoseconds since 1970.
type touch struct {
	Access int64 `json:"access"`
	Modify int64 `json:"modify"`
	Before int64 `json:"before"` // Modify before the change
}

func (t *touch) times() (access, modify time.Time) {
	return time.Unix(0, t.Access), time.Unix(0, t.Modify)
}

// before returns the times that undo a touch. The access time is zero, since it is not known.
func (t *touch) before() (access, modify time.Time) { return time.Time{}, time.Unix(0, t.Before) }

// plan lists the operations of the landing and names the temporaries.
func (l *landing) plan() error {
	going := map[string]*op{} // folders to be removed, by path
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

// insideOf reports whether a path is in a folder that is removed, and adds it to the entries of that folder.
func insideOf(going map[string]*op, path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if o := going[dir]; o != nil {
			o.Inside = append(o.Inside, path[len(dir)+1:])
			return true
		}
	}
	return false
}

// planOne returns the operation for one change; nil for none.
func planOne(c *Change, tag string) (*op, error) {
	now, err := stat(c.Folder, c.Name)
	if err != nil {
		return nil, err
	}
	o := &op{Folder: filepath.Dir(c.Path), Name: c.Name, Was: markOf(now), root: c.Folder, change: c}
	switch {
	case c.Put == nil && now == nil:
		return nil, nil // removed already
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

// within lists the entries of a new folder, each folder before its entries.
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
