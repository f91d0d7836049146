package landing

import (
	"path/filepath"
	"slices"
)

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
