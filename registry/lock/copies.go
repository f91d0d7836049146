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
	// keepFor is how long unused copies are kept: several lock files share the folder, and not all of them are in use
	// each day.
	keepFor = 90 * 24 * time.Hour
	// touchAfter is the age at which the record of the last use, a file's mtime, is renewed.
	touchAfter = 24 * time.Hour
	// maxTerms limits the description stored with a copy: the manifest's own limit, and imports.
	maxTerms = 16 << 20
)

func dirOf(file string) string { return filepath.Dir(file) }

// KeptFile returns the path of the copy of a digest; it need not exist.
func (l *Lock) KeptFile(digest string) string {
	name, ok := digits(digest)
	if !ok || l.o.Keep == "" {
		return ""
	}
	return filepath.Join(l.o.Keep, name+".wasm")
}

// Keeps reports whether a copy of a digest is stored, and marks it as used. Readers must verify the digest.
func (l *Lock) Keeps(digest string) bool { return l.inUse(l.KeptFile(digest)) }

// inUse reports whether a file is stored, and marks it as used.
func (l *Lock) inUse(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	if now := time.Now(); !l.o.ReadOnly && now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(file, now, now) // on failure it may expire, and the plugin be held
	}
	return true
}

// Manifest is the key of the definition that holds the values of a plugin's Extism manifest. It is stored separately:
// plugins of several names may have the same bytes with different values.
const Manifest = "manifest"

// KeptManifest returns a stored manifest by its hash.
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

// KeepsAll reports whether the bytes of a pin and its manifest are stored.
func (l *Lock) KeepsAll(p Pin) bool {
	hash := p.Definitions[Manifest]
	return l.Keeps(p.Digest) && (hash == "" || l.inUse(l.manifestFile(hash)))
}

// Keep stores the bytes of a plugin and their terms.
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

// Terms returns the stored terms of a digest.
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

// expire removes copies that have not been used for keepFor.
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
