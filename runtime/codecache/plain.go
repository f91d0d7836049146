package codecache

import (
	"errors"
	"os"
	"path/filepath"
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
	file, err := openOwn(f.codeFile(mark))
	if err != nil {
		return nil
	}
	defer file.Close()
	c, err := readCode(file, mark)
	if err != nil || c.plain() == plain {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := f.putCode(mark, c.Key, c.Open(), plain); err != nil {
		if errors.Is(err, ErrChanged) {
			return nil
		}
		return err
	}
	return os.Chtimes(f.codeFile(mark), info.ModTime(), info.ModTime())
}
