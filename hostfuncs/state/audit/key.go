package audit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	keySize = 32
	macSize = 16 // bytes of the MAC in a line
)

// macStart separates the body of a line from its MAC.
const macStart = `,"mac":"`

func lineMAC(mac hash.Hash, before, line []byte) []byte {
	mac.Reset()
	_, _ = mac.Write(before)
	_, _ = mac.Write(line)
	var sum [sha256.Size]byte
	return mac.Sum(sum[:0])[:macSize]
}

// readKey returns the key of the folder. If create is set, a missing key is made.
func readKey(dir string, create bool) ([]byte, error) {
	path := filepath.Join(dir, "key")
	for {
		key, err := ReadKey(path)
		if !errors.Is(err, fs.ErrNotExist) || !create {
			return key, err
		}
		if err := makeKey(dir, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// ReadKey reads a key for Files: the file "key" of the folder of a log.
func ReadKey(file string) ([]byte, error) {
	key, err := os.ReadFile(file)
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s is no key of %d bytes", file, keySize)
	}
	return key, err
}

// fingerprint identifies a key without telling it: the SHA-256 of its file.
func fingerprint(key []byte) string {
	sum := sha256.Sum256(key)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// makeKey makes the key atomically: of two processes, one wins.
func makeKey(dir, path string) error {
	f, err := os.CreateTemp(dir, "key-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

const headEnd = ".head"

func writeHead(dir string, m Mark) error {
	path := filepath.Join(dir, m.Chain+headEnd)
	if err := os.WriteFile(path+".new", []byte(m.String()+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// maxSeen bounds the chains that a new one names, newest heads first. Each of them named others.
const maxSeen = 16

// heads reads the last line of every chain of a folder, as number/MAC.
func heads(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), headEnd); is {
			readHead(dir, name, all)
		}
	}
	return all, nil
}

// readHead adds number/MAC of a chain's head to all, unless it cannot be read.
func readHead(dir, name string, all map[string]string) {
	if raw, err := os.ReadFile(filepath.Join(dir, name+headEnd)); err == nil {
		all[name] = strings.TrimPrefix(strings.TrimSpace(string(raw)), name+"/")
	}
}

// latestHeads reads the heads that changed last, and counts all heads.
func latestHeads(dir string) (latest map[string]string, count int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	type head struct {
		name string
		at   time.Time
	}
	var all []head
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), headEnd)
		if !is {
			continue
		}
		if info, err := e.Info(); err == nil { // fails for a head that another process's retention has removed
			all = append(all, head{name, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b head) int { return b.at.Compare(a.at) })
	latest = map[string]string{}
	for _, h := range all[:min(len(all), maxSeen)] {
		readHead(dir, h.name, latest)
	}
	return latest, len(all), nil
}
