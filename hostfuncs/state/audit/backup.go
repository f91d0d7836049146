package audit

import (
	"bufio"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Backup copies the log of a folder to a new one, while processes write it and retention removes files. Verify finds in
// the copy the faults of the original and no others. A missing folder is copied to none.
func Backup(dir, to string) error {
	before, err := heads(dir) // the lines of a head are in its chain from then on
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := chains(dir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for chain := range before { // one without files has a fault, unless the record of retention names it
		if all[chain] == nil {
			all[chain] = []string{}
		}
	}
	for _, chain := range slices.Sorted(maps.Keys(all)) {
		if err := backupChain(dir, to, chain, all[chain], before[chain]); err != nil {
			return err
		}
	}
	for _, name := range []string{cutFile, "key"} { // the record of retention last: it has the chains that went meanwhile
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = writeSynced(filepath.Join(to, name), data)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// backupChain copies the files of a chain, and its head: that of before, or the present one of a chain that began since then.
func backupChain(dir, to, chain string, files []string, head string) error {
	changing := held(filepath.Join(dir, chain+lockEnd))
	last := ""
	for _, file := range files {
		end, err := backupLines(filepath.Join(dir, file), filepath.Join(to, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // retention removes files
			return err
		}
		if end != "" {
			last = end
		}
	}
	if head == "" {
		head = presentHead(dir, chain, files, last, changing)
	}
	if head == "" {
		return nil
	}
	return writeSynced(filepath.Join(to, chain+headEnd), []byte(chain+"/"+head+"\n"))
}

// presentHead returns the head for a copy of files that ends with the line last. Its own head may be behind that line or
// missing, since a process writes the head after the lines, and may be ahead of it. Retention removes it after the files.
func presentHead(dir, chain string, files []string, last string, changing bool) string {
	now := map[string]string{}
	readHead(dir, chain, now)
	head := now[chain]
	if head != "" && numberOf(head) <= numberOf(last) {
		return head
	}
	if _, err := os.Lstat(filepath.Join(dir, files[len(files)-1])); changing || errors.Is(err, fs.ErrNotExist) {
		return last
	}
	return head
}

// backupLines copies the whole lines of a file, and returns the last one as number/MAC.
func backupLines(from, to string) (last string, err error) {
	if _, err := os.Stat(from); err != nil {
		return "", err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(out)
	_, err = eachLine(from, func(line []byte, whole bool) bool {
		if whole {
			_, _ = w.Write(append(line, '\n')) // Flush returns its error
			last = markOf(line, last)
		}
		return true
	})
	err = errors.Join(err, w.Flush(), out.Sync(), out.Close())
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(to) // retention was quicker
	}
	return last, err
}

func writeSynced(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
