package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// Keep bounds the folder of a log. Beyond a bound the oldest files are removed, except files that a running process
// writes.
type Keep struct {
	Bytes int64         // of all files; 0 is unlimited
	Age   time.Duration // since the last write to a file, in whole days because files are daily; 0 is unlimited
}

const (
	// maxChains bounds the chains of a folder: each process that calls a tool makes one.
	maxChains = 4096
	// maxCuts bounds the chains in the record of retention, newest first.
	maxCuts = 2 * maxChains
	// pruneFirst and pruneEvery are the times until the first and each later retention.
	pruneFirst, pruneEvery = 5 * time.Second, time.Hour
)

// cuts is the record of retention: the last line of each removed chain, as number/MAC.
type cuts map[string]string

const cutFile = "cut"

// readCuts reads the record. A missing record is empty. ok reports whether its seal is intact.
func readCuts(dir string, key []byte) (c cuts, ok bool, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, cutFile))
	if errors.Is(err, fs.ErrNotExist) {
		return cuts{}, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	body, mac, _ := bytes.Cut(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
	sum, err := hex.DecodeString(string(mac))
	if err != nil || !hmac.Equal(sum, cutMAC(key, body)) || json.Unmarshal(body, &c) != nil {
		return cuts{}, false, nil
	}
	return c, true, nil
}

// forgot reports whether a chain is older than all of a full record, which has only the newest.
func (c cuts) forgot(chain string) bool {
	return len(c) >= maxCuts && chain < slices.Min(slices.Collect(maps.Keys(c)))
}

func cutMAC(key, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, "removed by retention\n")
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// write replaces the record and syncs it, before any file is removed.
func (c cuts) write(dir string, key []byte) error {
	names := slices.Sorted(maps.Keys(c))
	for _, name := range names[:max(0, len(names)-maxCuts)] {
		delete(c, name)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, cutFile+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = fmt.Fprintf(f, "%s\n%x\n", body, cutMAC(key, body))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, cutFile))
}

// prune applies retention. Only one process does so at a time, and the others skip it.
func (l *Log) prune() {
	if l.o.Keep == (Keep{}) {
		return
	}
	if err := prune(l.dir, l.o.Keep, l.o.Now()); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tell(fmt.Errorf("retention: %w", err))
	}
}

func prune(dir string, keep Keep, now time.Time) error {
	lock, err := os.OpenFile(filepath.Join(dir, "retention"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if free, err := filelock.Try(lock); err != nil || !free {
		return err
	}
	for {
		going, err := surplus(dir, keep, now)
		if err != nil || len(going) == 0 {
			return err
		}
		if err := remove(dir, going); err != nil {
			return err
		}
	}
}

// logFile is one file of a chain.
type logFile struct {
	chain, name string
	last        bool // the only remaining file of its chain
	size        int64
	at          time.Time
}

// surplus returns the files beyond the bounds, oldest first: at most one per chain, its first.
func surplus(dir string, keep Keep, now time.Time) ([]logFile, error) {
	all, err := chains(dir)
	if err != nil {
		return nil, err
	}
	var firsts []logFile
	var size int64
	for chain, names := range all {
		for i, name := range names {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			size += info.Size()
			if i == 0 {
				firsts = append(firsts, logFile{chain, name, len(names) == 1, info.Size(), info.ModTime()})
			}
		}
	}
	slices.SortFunc(firsts, func(a, b logFile) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	count := len(all)
	var going []logFile
	for _, f := range firsts {
		tooMany, tooLarge := count > maxChains, keep.Bytes > 0 && size > keep.Bytes
		tooOld := keep.Age > 0 && now.Sub(f.at) > keep.Age
		if !tooMany && !tooLarge && !tooOld {
			break
		}
		if f.last && held(filepath.Join(dir, f.chain+lockEnd)) {
			continue
		}
		going = append(going, f)
		size -= f.size
		if f.last {
			count--
		}
	}
	return going, nil
}

// held reports whether a running process holds a lock. It is also true if that cannot be determined.
func held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	free, err := filelock.Try(f)
	return err != nil || !free
}

// remove records where each chain is cut, and then removes the files.
func remove(dir string, going []logFile) error {
	key, err := readKey(dir, false)
	if err != nil {
		return err
	}
	c, _, err := readCuts(dir, key)
	if err != nil {
		return err
	}
	for _, f := range going {
		end, err := lastLine(filepath.Join(dir, f.name))
		if err != nil {
			return err
		}
		if end != "" || c[f.chain] == "" {
			c[f.chain] = end
		}
	}
	if err := c.write(dir, key); err != nil {
		return err
	}
	for _, f := range going {
		names := []string{f.name}
		if f.last {
			names = append(names, f.chain+headEnd, f.chain+lockEnd)
		}
		for _, name := range names {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// lastLine returns the last whole line of a file, as number/MAC, or "" if there is none.
func lastLine(path string) (string, error) {
	last := ""
	_, err := eachLine(path, func(line []byte, whole bool) bool {
		if whole {
			last = markOf(line, last)
		}
		return true
	})
	return last, err
}

// markOf returns a line as number/MAC, or the mark before if it is none of a log.
func markOf(line []byte, before string) string {
	if body, mac, ok := splitLine(line); ok {
		return fmt.Sprintf("%d/%x", number(body), mac)
	}
	return before
}
