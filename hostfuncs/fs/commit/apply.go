package commit

import (
	"errors"
	"path/filepath"
	"slices"
)

// apply performs the operations of the record.
func apply(ops []*op, reach func(string)) error {
	for _, o := range ops {
		if err := o.do(); err != nil {
			return &PathError{filepath.Join(o.Folder, o.Name), err}
		}
		reach("applied")
	}
	return syncFolders(ops)
}

// do performs one operation, as far as it is not done.
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

// late performs one operation after a crash. A file changed by others since is kept, and the new content stays beside
// it under its temporary name.
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

// sendAway moves the old object to its backup name, if it is unchanged. An object that has a hard link as backup by
// now is replaced in place.
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

// drop removes the temporaries and backups of operations that were not applied.
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

// undo reverts all operations, as far as that is not done. Say, if not nil, is called for each backup that stays
// beside a file changed by others since.
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

// takeBack removes the object that the landing created at Name, unless it was changed since. Of a folder it removes
// only entries that it created.
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
			return nil // it was restored already
		}
		return o.root.Remove(o.Name)
	}
	for _, name := range slices.Backward(o.Made) {
		_ = o.root.Remove(filepath.Join(o.Name, name))
	}
	_ = o.root.Remove(o.Name)
	return nil
}

// putBack renames the backup to its old name. If the old object is still in place its hard link is removed.
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

// forget removes the backups. A folder into which others put an entry meanwhile is restored with that entry.
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
