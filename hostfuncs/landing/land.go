package landing

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Land makes the changes last. dir is the folder of records and locks, which all processes of a state folder
// share. An error means that nothing landed, but for one with ErrHalf in its chain. ctx ends the waiting for
// other landings, nothing else.
func Land(ctx context.Context, dir string, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	l := &landing{id: strings.ToLower(rand.Text()[:12]), dir: dir, changes: slices.Clone(changes), same: map[*Entry]made{}, reach: hook(ctx)}
	slices.SortFunc(l.changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	unlock, err := lock(ctx, filepath.Join(dir, "locks"), l.changes)
	if err != nil {
		return err
	}
	defer unlock()
	if err := check(l.changes); err != nil {
		return err
	}
	return l.run()
}

// ErrHalf says that a landing stopped in the middle and could not be undone. What is left of it is in the
// record, which Recover finishes.
var ErrHalf = errors.New("the changes landed in part, the next start finishes them")

// landing is one set on its way.
type landing struct {
	id      string
	dir     string
	changes []Change
	ops     []*op
	record  *record
	same    map[*Entry]made // files with several names
	reach   func(string)    // hears how far it is
}

// hookKey is how tests hear how far a landing is.
type hookKey struct{}

func hook(ctx context.Context) func(string) {
	if f, ok := ctx.Value(hookKey{}).(func(string)); ok {
		return f
	}
	return func(string) {}
}

// made is where an entry has been made.
type made struct {
	root *os.Root
	name string
}

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

func (l *landing) run() (err error) {
	if err := l.plan(); err != nil {
		return err
	}
	if l.record, err = begin(l.dir, l.id, l.ops); err != nil {
		return err
	}
	err = l.prepare()
	if err == nil {
		err = l.record.commit()
	}
	if err != nil {
		drop(l.ops)
		return errors.Join(err, l.record.end())
	}
	l.reach("committed")
	if err := apply(l.ops, l.reach); err != nil {
		if undo(l.ops) {
			return errors.Join(err, l.record.end())
		}
		l.record.leave()
		return errors.Join(err, ErrHalf)
	}
	forget(l.ops)
	return l.record.end()
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

// prepare makes the temporaries and the second names, and brings them to the disk.
func (l *landing) prepare() error {
	for _, o := range l.ops {
		if o.Temp != "" {
			if err := l.make(o.root, o.Temp, o.change.Put); err != nil {
				return &PathError{o.change.Path, err}
			}
		}
		if o.Backup != "" && !o.Away {
			_ = o.root.Link(o.Name, o.Backup) // without second names it cannot be undone, only finished
		}
	}
	l.reach("prepared")
	return syncFolders(l.ops)
}

// apply does what the record says, as far as it is not done.
func apply(ops []*op, reach func(string)) error {
	for i, o := range ops {
		if err := o.do(); err != nil {
			return &PathError{filepath.Join(o.Folder, o.Name), err}
		}
		if i == 0 {
			reach("half")
		}
	}
	return syncFolders(ops)
}

func (o *op) do() error {
	if o.Touch != nil {
		return setTimes(o.root, o.Name, *o.Touch)
	}
	if o.Away {
		if err := o.sendAway(); err != nil {
			return err
		}
	}
	if o.Temp == "" || !o.has(o.Temp) {
		return nil // done
	}
	return o.root.Rename(o.Temp, o.Name)
}

// sendAway moves what was there aside, if it still is that.
func (o *op) sendAway() error {
	if o.has(o.Backup) {
		return nil // done
	}
	now, err := stat(o.root, o.Name)
	if err != nil || now == nil || *markOf(now) != *o.Was {
		return err
	}
	return o.root.Rename(o.Name, o.Backup)
}

func (o *op) has(name string) bool {
	now, err := stat(o.root, name)
	return err == nil && now != nil
}

// drop takes the temporaries away of what was not applied.
func drop(ops []*op) {
	for _, o := range ops {
		if o.Temp != "" {
			_ = o.root.RemoveAll(o.Temp)
		}
		if o.Backup != "" {
			_ = o.root.Remove(o.Backup)
		}
	}
}

// undo puts everything back, and reports whether it could.
func undo(ops []*op) bool {
	whole := true
	for _, o := range slices.Backward(ops) {
		applied := o.Temp != "" && !o.has(o.Temp)
		if o.Temp != "" && !applied {
			_ = o.root.RemoveAll(o.Temp)
		}
		saved := o.Backup != "" && o.has(o.Backup)
		switch {
		case saved && o.Away:
			if applied {
				_ = o.root.RemoveAll(o.Name)
			}
			whole = o.root.Rename(o.Backup, o.Name) == nil && whole
		case saved && applied:
			whole = o.root.Rename(o.Backup, o.Name) == nil && whole
		case saved:
			_ = o.root.Remove(o.Backup)
		case applied && o.Was == nil:
			whole = o.root.RemoveAll(o.Name) == nil && whole
		case applied:
			whole = false
		}
	}
	return whole
}

// forget removes what was replaced. A folder in which somebody put something meanwhile comes back with
// that.
func forget(ops []*op) {
	for _, o := range ops {
		if o.Backup == "" {
			continue
		}
		for _, name := range slices.Backward(o.Inside) {
			_ = o.root.Remove(filepath.Join(o.Backup, name))
		}
		if o.root.Remove(o.Backup) != nil && o.Temp == "" && o.has(o.Backup) && !o.has(o.Name) {
			_ = o.root.Rename(o.Backup, o.Name)
		}
	}
}
