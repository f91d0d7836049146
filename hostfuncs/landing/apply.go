package landing

import (
	"errors"
	"path/filepath"
	"slices"
)

// apply does what the record says.
func apply(ops []*op, reach func(string)) error {
	for _, o := range ops {
		if err := o.do(); err != nil {
			return &PathError{filepath.Join(o.Folder, o.Name), err}
		}
		reach("applied")
	}
	return syncFolders(ops)
}

// do does one change, as far as it is not done.
func (o *op) do() error {
	if o.Touch != nil {
		access, modify := o.Touch.times()
		return setTimes(o.root, o.Name, access, modify)
	}
	if o.Temp != "" && !o.has(o.Temp) {
		return nil // done
	}
	if err := o.sendAway(); err != nil || o.Temp == "" {
		return err
	}
	return o.root.Rename(o.Temp, o.Name)
}

// late does one change after a crash. What somebody has changed since is theirs: what was to be there stays beside it.
func (o *op) late(say func(path, aside string)) error {
	if o.has(o.Temp) {
		now, err := stat(o.root, o.Name)
		if err != nil {
			return err
		}
		if now != nil && (!o.Was.is(now) || o.Away && o.has(o.Backup)) {
			say(filepath.Join(o.Folder, o.Name), o.Temp)
			return nil
		}
	}
	return o.do()
}

// sendAway moves what was there aside, if it still is that. What has a second name by now is replaced where it is.
func (o *op) sendAway() error {
	if o.Backup == "" || o.has(o.Backup) {
		return nil
	}
	now, err := stat(o.root, o.Name)
	if err != nil || now == nil || !o.Was.is(now) {
		return err
	}
	return o.root.Rename(o.Name, o.Backup)
}

func (o *op) has(name string) bool {
	if name == "" {
		return false
	}
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

// undo puts everything back, as far as that is not done. Say hears of what stays beside a file that somebody has
// changed since; nil is nobody.
func undo(ops []*op, say func(path, aside string)) error {
	var all error
	for _, o := range slices.Backward(ops) {
		if err := o.undo(say); err != nil {
			all = errors.Join(all, &PathError{filepath.Join(o.Folder, o.Name), err})
		}
	}
	return errors.Join(all, syncFolders(ops))
}

func (o *op) undo(say func(path, aside string)) error {
	if o.Touch != nil {
		access, modify := o.Touch.before()
		return setTimes(o.root, o.Name, access, modify)
	}
	if o.Temp != "" && !o.has(o.Temp) {
		if err := o.takeBack(); err != nil {
			return err
		}
	}
	if err := o.putBack(say); err != nil || o.Temp == "" {
		return err
	}
	return o.root.RemoveAll(o.Temp)
}

// takeBack removes what the landing put at Name, unless somebody has changed it since. In a folder it removes what it
// made.
func (o *op) takeBack() error {
	now, err := stat(o.root, o.Name)
	if err != nil || now == nil || !o.made.is(now) {
		return err
	}
	if !now.IsDir() {
		if o.has(o.Backup) {
			return o.root.Rename(o.Backup, o.Name)
		}
		if o.Backup != "" {
			return nil // it was put back already
		}
		return o.root.Remove(o.Name)
	}
	for _, name := range slices.Backward(o.Made) {
		_ = o.root.Remove(filepath.Join(o.Name, name))
	}
	_ = o.root.Remove(o.Name)
	return nil
}

// putBack gives what was sent away its name again. A second name of what is still there goes.
func (o *op) putBack(say func(path, aside string)) error {
	if !o.has(o.Backup) {
		return nil
	}
	now, err := stat(o.root, o.Name)
	switch {
	case err != nil:
		return err
	case now == nil:
		return o.root.Rename(o.Backup, o.Name)
	case !o.Away && o.Was.is(now):
		return o.root.Remove(o.Backup)
	}
	if say != nil {
		say(filepath.Join(o.Folder, o.Name), o.Backup)
	}
	return nil
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
