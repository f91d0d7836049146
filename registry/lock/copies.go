package lock

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const (
	// keepFor is how long unused copies are kept: several lock files share the folder, and not all of them are in use
	// each day.
	keepFor = 90 * 24 * time.Hour
	// touchAfter is the age at which the record of the last use, a file's mtime, is renewed.
	touchAfter = 24 * time.Hour
	// maxTerms limits the description stored with a copy: the manifest's own limit, and imports.
	maxTerms = 16 << 20
)

// Copies is a folder of copies of approved bytes, each with its terms, by digest. Several lock files share it.
type Copies struct {
	dir      string // "" stores none
	readOnly bool
	store    *store.Store // of a lock in a database, which has them too; nil for a lock file
}

// Path returns the path of the copy of a digest; it need not exist.
func (c Copies) Path(digest string) string {
	name, ok := digits(digest)
	if !ok || c.dir == "" {
		return ""
	}
	return filepath.Join(c.dir, name+".wasm")
}

// Has reports whether a copy of a digest is stored, and marks it as used. Readers must verify the digest.
func (c Copies) Has(digest string) bool { return c.inUse(c.Path(digest)) }

// inUse reports whether a file is stored, and marks it as used.
func (c Copies) inUse(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	if now := time.Now(); !c.readOnly && now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(file, now, now) // on failure it may expire, and the plugin be held
	}
	return true
}

// Manifest is the key of the definition that holds the values of a plugin's Extism manifest. It is stored separately:
// plugins of several names may have the same bytes with different values.
const Manifest = "manifest"

// Manifest returns a stored manifest by its hash.
func (c Copies) Manifest(hash string) (json.RawMessage, error) {
	file := c.manifestFile(hash)
	if file == "" {
		return nil, fs.ErrNotExist
	}
	c.inUse(file)
	raw, err := readBounded(file, maxTerms)
	if err == nil && Hash(raw) != hash {
		err = errors.New("it was changed")
	}
	return raw, err
}

func (c Copies) manifestFile(hash string) string {
	file := c.Path(hash)
	if file == "" {
		return ""
	}
	return strings.TrimSuffix(file, ".wasm") + manifestSuffix
}

const manifestSuffix = ".manifest"

// HasAll reports whether the bytes of a pin and its manifest are stored.
func (c Copies) HasAll(p Pin) bool {
	hash := p.Definitions[Manifest]
	return c.Has(p.Digest) && (hash == "" || c.inUse(c.manifestFile(hash)))
}

// Put stores the bytes of a plugin and their terms.
func (c Copies) Put(wasm []byte, t Terms) error {
	file := c.Path(t.Digest)
	if file == "" || c.readOnly {
		return nil
	}
	if said := t.Definitions[Manifest]; said != nil {
		if err := replace(c.manifestFile(Hash(said)), said, 0o600); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := replace(strings.TrimSuffix(file, ".wasm")+".json", raw, 0o600); err != nil {
		return err
	}
	if err := replace(file, wasm, 0o600); err != nil {
		return err
	}
	c.expire()
	return nil
}

// Terms returns the stored terms of a digest.
func (c Copies) Terms(digest string) (t Terms, err error) {
	file := c.Path(digest)
	if file == "" {
		return t, fs.ErrNotExist
	}
	raw, err := readBounded(strings.TrimSuffix(file, ".wasm")+".json", maxTerms)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, err
	}
	if t.Digest != digest {
		return t, errors.New("they are of other bytes")
	}
	return t, nil
}

// expire removes copies that have not been used for keepFor.
func (c Copies) expire() {
	c.remove(func(_ string, unused time.Duration) bool { return unused > keepFor })
}

// remove removes the copies that a function chooses by their name, without its suffix, and the time since their last use.
// It returns the number and the size of the files.
func (c Copies) remove(chosen func(name string, unused time.Duration) bool) (files int, freed int64) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		info, err := e.Info()
		name, wasm := strings.CutSuffix(e.Name(), ".wasm")
		if !wasm {
			var manifest bool
			if name, manifest = strings.CutSuffix(e.Name(), manifestSuffix); !manifest {
				continue
			}
		}
		if err != nil || !chosen(name, time.Since(info.ModTime())) {
			continue
		}
		if os.Remove(filepath.Join(c.dir, e.Name())) == nil {
			files, freed = files+1, freed+info.Size()
		}
		if wasm {
			os.Remove(filepath.Join(c.dir, name+".json"))
		}
	}
	return files, freed
}

// PruneCopies removes the copies that no plugin of this lock needs and that were not used for a time: other lock files
// share the folder. It returns the number and the size of the files.
func (l *Lock) PruneCopies(unused time.Duration) (files int, freed int64) {
	l.mu.Lock()
	pinned := pinnedNames(l.pins)
	l.mu.Unlock()
	return l.Copies.remove(func(name string, since time.Duration) bool { return !pinned[name] && since >= unused })
}

// pinnedNames returns the names of the copies that pins need, without their suffix.
func pinnedNames(pins map[string]Pin) map[string]bool {
	pinned := map[string]bool{}
	for _, p := range pins {
		for _, digest := range []string{p.Digest, p.Definitions[Manifest]} {
			if name, ok := digits(digest); ok {
				pinned[name] = true
			}
		}
	}
	return pinned
}
