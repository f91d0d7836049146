package recording

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

// Bounds of a folder, for each plugin.
const (
	// MaxAge is the longest time for which calls are kept: keys are rotated after 30 days, and older ones are gone
	// after twice that.
	MaxAge   = 30 * 24 * time.Hour
	maxFiles = 256
	maxBytes = 32 << 20
	// maxFile limits a file that is read: MaxCall, with the answer, twice encoded in base64.
	maxFile = 16 << 20
)

const (
	suffix = ".call"
	prefix = ".writing-" // of files that are being written
	// purpose begins the sealed text, so that no other text of these keys is taken for a call.
	purpose = "sallyport recorded call 1\n"
)

// Options configure a Folder. Dir and Keys are required.
type Options struct {
	Dir  string
	Keys func() (*sealed.Keys, error) // asked for each use, since keys are rotated
	Now  func() time.Time             // nil is time.Now
}

// Folder keeps calls in files, a folder for each plugin and a file for each call. It is safe for concurrent use, also
// by several processes: a file is complete or absent.
type Folder struct{ o Options }

// NewFolder returns the recordings in a folder, which need not exist.
func NewFolder(o Options) *Folder {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Folder{o}
}

// Put keeps a call, and removes those of its plugin that are older than age or too many.
func (f *Folder) Put(c *Call, age time.Duration) error {
	keys, err := f.o.Keys()
	if err != nil {
		return err
	}
	plain, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(plain) > 4*MaxCall {
		return fmt.Errorf("the call has %d bytes, and %d are kept at most", len(plain), 4*MaxCall)
	}
	dir := f.of(c.Plugin)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text := keys.Seal(append([]byte(purpose), plain...))
	f.prune(dir, age, int64(len(text)))
	name := fmt.Sprintf("%020d-%d-%s%s", c.Time.UnixNano(), len(text), rand.Text()[:8], suffix)
	return write(dir, name, []byte(text))
}

// write makes a file that is complete or absent.
func write(dir, name string, content []byte) error {
	file, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // else the next call removes it
	}
	return err
}

// Calls are the recorded calls of a plugin.
type Calls struct {
	All     []Call // oldest first
	Damaged int    // files that cannot be read
}

// Calls returns the calls of a plugin of the last age. A plugin without any has none.
func (f *Folder) Calls(plugin string, age time.Duration) (c Calls, err error) {
	dir := f.of(plugin)
	files, err := list(dir)
	if err != nil || len(files) == 0 {
		return c, err
	}
	keys, err := f.o.Keys()
	if err != nil {
		return c, err
	}
	oldest := f.o.Now().Add(-min(age, MaxAge))
	for _, one := range files {
		if one.at.Before(oldest) {
			continue
		}
		call, err := read(keys, filepath.Join(dir, one.name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil || call.Plugin != plugin || len(call.Exchanges) > MaxExchanges:
			c.Damaged++
		default:
			c.All = append(c.All, *call)
		}
	}
	return c, nil
}

// read opens one file.
func read(keys *sealed.Keys, path string) (*Call, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, errors.New("not a recorded call")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	plain, err := keys.Open(string(text))
	if err != nil {
		return nil, err
	}
	raw, ok := bytes.CutPrefix(plain, []byte(purpose))
	if !ok {
		return nil, sealed.ErrInvalid
	}
	c := &Call{}
	return c, json.Unmarshal(raw, c)
}

// Remove removes all calls of a plugin.
func (f *Folder) Remove(plugin string) error { return os.RemoveAll(f.of(plugin)) }

// Prune removes calls that are older than their plugin's age; that of a plugin that is not named is MaxAge.
func (f *Folder) Prune(ages map[string]time.Duration) {
	entries, err := os.ReadDir(f.o.Dir)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		dir := filepath.Join(f.o.Dir, e.Name())
		f.prune(dir, cmp.Or(ages[e.Name()], MaxAge), 0)
		_ = os.Remove(dir) // if it is empty
	}
}

// of returns the folder of a plugin. A name is letters, digits and underscores; any other is taken apart.
func (f *Folder) of(plugin string) string {
	if strings.ContainsAny(plugin, `/\.:`) || plugin == "" {
		plugin = fmt.Sprintf("%%%x", plugin)
	}
	return filepath.Join(f.o.Dir, plugin)
}

// kept is one file.
type kept struct {
	name string
	at   time.Time // of its call
	size int64
}

// list returns the files of a folder, oldest first. Their names tell time and size, so that none is opened.
func list(dir string) ([]kept, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return filesOf(entries), err
}

func filesOf(entries []fs.DirEntry) (all []kept) {
	for _, e := range entries {
		number, rest, ok := strings.Cut(e.Name(), "-")
		nanos, bad := strconv.ParseInt(number, 10, 64)
		if !ok || bad != nil || !strings.HasSuffix(rest, suffix) {
			continue
		}
		length, _, _ := strings.Cut(rest, "-")
		size, _ := strconv.ParseInt(length, 10, 64) // a file of another name counts for the number alone
		all = append(all, kept{e.Name(), time.Unix(0, nanos), max(0, size)})
	}
	slices.SortStableFunc(all, func(a, b kept) int { return a.at.Compare(b.at) })
	return all
}

// prune removes old files, abandoned ones, and those that leave no room for one more of size more.
func (f *Folder) prune(dir string, age time.Duration, more int64) {
	now := f.o.Now()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the next call tries again
	}
	sweep(dir, entries, now)
	all := filesOf(entries)
	remove := func(i int) {
		_ = os.Remove(filepath.Join(dir, all[i].name)) // or another process did
		all = slices.Delete(all, i, i+1)
	}
	for len(all) > 0 && all[0].at.Before(now.Add(-min(age, MaxAge))) {
		remove(0)
	}
	room := int64(maxBytes) - more
	for _, one := range all {
		room -= one.size
	}
	for len(all) > 0 && (len(all) >= maxFiles && more > 0 || room < 0) {
		i := crowded(all)
		room += all[i].size
		remove(i)
	}
}

// sweep removes files whose writing was interrupted an hour ago or earlier.
func sweep(dir string, entries []fs.DirEntry, now time.Time) {
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// crowded returns the file whose neighbours are the closest in time. The oldest and the newest have one.
func crowded(all []kept) (at int) {
	least := time.Duration(1<<63 - 1)
	for i := 1; i+1 < len(all); i++ {
		if gap := all[i+1].at.Sub(all[i-1].at); gap < least {
			at, least = i, gap
		}
	}
	return at
}
