package lock

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// keepFor is how long bytes are kept that no lock asked for: several lock files share the folder, and
	// not all of them are in use each day.
	keepFor = 90 * 24 * time.Hour
	// touchAfter is how old the note of a use may be before it is made anew.
	touchAfter = 24 * time.Hour
	// maxTerms bounds the description beside kept bytes: a manifest's own bound, and imports.
	maxTerms = 16 << 20
)

func dirOf(file string) string { return filepath.Dir(file) }

// KeptFile is where the bytes of a digest are kept; they need not be there.
func (l *Lock) KeptFile(digest string) string {
	name, ok := digits(digest)
	if !ok || l.o.Keep == "" {
		return ""
	}
	return filepath.Join(l.o.Keep, name+".wasm")
}

// Keeps reports whether bytes of a digest are kept, and notes that they are in use. Whoever reads them checks
// their digest.
func (l *Lock) Keeps(digest string) bool { return l.inUse(l.KeptFile(digest)) }

// inUse reports whether a file is kept, and notes that it is in use.
func (l *Lock) inUse(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	if now := time.Now(); !l.o.ReadOnly && now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(file, now, now) // at worst they are forgotten, and held
	}
	return true
}

// Manifest is the definition that holds the words of a plugin's Extism manifest. It is kept by itself: plugins of
// several names may be the same bytes with other values.
const Manifest = "manifest"

// KeptManifest returns a manifest that is kept, by its hash.
func (l *Lock) KeptManifest(hash string) (json.RawMessage, error) {
	file := l.manifestFile(hash)
	if file == "" {
		return nil, fs.ErrNotExist
	}
	l.inUse(file)
	raw, err := readBounded(file, maxTerms)
	if err == nil && Hash(raw) != hash {
		err = errors.New("it was changed")
	}
	return raw, err
}

func (l *Lock) manifestFile(hash string) string {
	file := l.KeptFile(hash)
	if file == "" {
		return ""
	}
	return strings.TrimSuffix(file, ".wasm") + manifestSuffix
}

const manifestSuffix = ".manifest"

// KeepsAll reports whether the bytes of a pin are kept, and the manifest that belongs to it.
func (l *Lock) KeepsAll(p Pin) bool {
	hash := p.Definitions[Manifest]
	return l.Keeps(p.Digest) && (hash == "" || l.inUse(l.manifestFile(hash)))
}

// Keep keeps the bytes of a plugin and its terms, which must be those of the bytes.
func (l *Lock) Keep(wasm []byte, t Terms) error {
	file := l.KeptFile(t.Digest)
	if file == "" || l.o.ReadOnly {
		return nil
	}
	if said := t.Definitions[Manifest]; said != nil {
		if err := replace(l.manifestFile(Hash(said)), said, 0o600); err != nil {
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
	l.expire()
	return nil
}

// Terms are what a plugin of a kept digest said of itself.
func (l *Lock) Terms(digest string) (t Terms, err error) {
	file := l.KeptFile(digest)
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

// expire forgets bytes that nobody used for long.
func (l *Lock) expire() {
	entries, err := os.ReadDir(l.o.Keep)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		kept := strings.HasSuffix(e.Name(), ".wasm") || strings.HasSuffix(e.Name(), manifestSuffix)
		if err == nil && kept && time.Since(info.ModTime()) > keepFor {
			path := filepath.Join(l.o.Keep, e.Name())
			os.Remove(path)
			os.Remove(strings.TrimSuffix(path, ".wasm") + ".json")
		}
	}
}
