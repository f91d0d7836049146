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
func (l *Lock) Keeps(digest string) bool {
	file := l.KeptFile(digest)
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	if now := time.Now(); !l.o.ReadOnly && now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(file, now, now) // at worst they are forgotten, and held
	}
	return true
}

// Keep keeps the bytes of a plugin and what it said of itself. The terms must be those of the bytes.
func (l *Lock) Keep(wasm []byte, t Terms) error {
	file := l.KeptFile(t.Digest)
	if file == "" || l.o.ReadOnly {
		return nil
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
		if err == nil && strings.HasSuffix(e.Name(), ".wasm") && time.Since(info.ModTime()) > keepFor {
			path := filepath.Join(l.o.Keep, e.Name())
			os.Remove(path)
			os.Remove(strings.TrimSuffix(path, ".wasm") + ".json")
		}
	}
}
