package clients

import "strconv"

// Wire puts an entry for s into file atomically, under the first name that is free there, and returns its name and that
// of the backup. If an entry launches a host on the same folder already, it returns ErrUnchanged and the name of that one.
func (c Client) Wire(file string, s Server) (name, backup string, err error) {
	backup, err = change(file, func(old []byte) ([]byte, error) {
		serving, err := c.Serving(old, s)
		if err != nil {
			return nil, err
		}
		if len(serving) > 0 {
			name = serving[0]
			return nil, ErrUnchanged
		}
		if name, err = c.freeName(old); err != nil {
			return nil, err
		}
		return c.Merge(old, name, s, false)
	})
	return name, backup, err
}

// Unwire removes all entries that launch a host on the folder of s from file atomically, and returns their names and that
// of the backup. It returns ErrNoEntry if there are none.
func (c Client) Unwire(file string, s Server) (names []string, backup string, err error) {
	backup, err = change(file, func(text []byte) ([]byte, error) {
		if names, err = c.Serving(text, s); err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, ErrNoEntry
		}
		for _, name := range names {
			if text, err = c.Remove(text, name); err != nil {
				return nil, err
			}
		}
		return text, nil
	})
	return names, backup, err
}

// freeName returns DefaultName, with a number if the file has an entry of that name.
func (c Client) freeName(text []byte) (string, error) {
	taken, err := c.entries(text)
	name := DefaultName
	for n := 2; err == nil && taken[name] != nil; n++ {
		name = DefaultName + "_" + strconv.Itoa(n)
	}
	return name, err
}
