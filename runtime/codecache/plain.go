package codecache

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// KeepPlain stores the code of these marks plain, the first ones first, as long as together it has at most max bytes, and
// compresses all other code. Plain code is loaded in half of the time and takes four times the space. Code that cannot be
// read is left alone: it is made again when it is needed.
func (f Folder) KeepPlain(marks []string, max uint64) error {
	keep := map[string]bool{}
	for _, mark := range marks {
		file, err := openOwn(f.codeFile(mark))
		if err != nil {
			continue
		}
		c, err := readCode(file, mark)
		if err == nil && c.Size <= max {
			keep[mark] = true
			max -= c.Size
		}
		file.Close()
	}
	all, err := os.ReadDir(filepath.Join(string(f), codes))
	for _, e := range all {
		err = errors.Join(err, f.store(e.Name(), keep[e.Name()]))
	}
	return err
}

// store stores the code of a mark again if it is not as wanted. The file keeps its time of use.
func (f Folder) store(mark string, plain bool) error {
	key, s, used, err := f.restored(mark, plain)
	if err != nil || s.table == nil {
		return nil
	}
	if err := f.replaceCode(mark, key, s); err != nil {
		return err
	}
	return os.Chtimes(f.codeFile(mark), used, used)
}

// restored returns the code of a mark as it is to be stored, or no table if it already is. The file is closed again: an
// open one cannot be replaced everywhere.
func (f Folder) restored(mark string, plain bool) (key [KeySize]byte, s parts, used time.Time, err error) {
	file, err := openOwn(f.codeFile(mark))
	if err != nil {
		return key, s, used, err
	}
	defer file.Close()
	c, err := readCode(file, mark)
	if err != nil || c.plain() == plain {
		return key, s, used, err
	}
	if s, err = split(c.Open(), plain); err != nil {
		return key, s, used, err
	}
	info, err := file.Stat()
	if err == nil {
		used = info.ModTime()
	}
	return c.Key, s, used, err
}
