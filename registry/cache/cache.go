// Package cache stores the digests of plugin files and the manifests of modules between runs, so that a start need not
// read unchanged files. An unusable cache is treated as empty, and callers must verify the digest before they compile a
// module.
package cache

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

const (
	// maxCached limits the stored digests: a few folders of a thousand plugins.
	maxCached = 8192
	// maxCacheFile limits the file of digests, in bytes: each takes under 256.
	maxCacheFile = 4 << 20
	// cacheVersion is the version of the cache format.
	cacheVersion = 3
)

// Cache is the cache of one state folder. It is safe for concurrent use.
type Cache struct {
	dir  string // "" stores nothing between runs
	log  *slog.Logger
	host string // this build

	mu      sync.Mutex
	digests map[string]string // stamp key → digest
	used    map[string]bool   // keys of this run
	changed bool
	calls   calls
}

// cachedDigests is the JSON form of digests.json.
type cachedDigests struct {
	Version int               `json:"version"`
	Digests map[string]string `json:"digests"`
}

// cachedModule is the JSON form of a file below manifests.
type cachedModule struct {
	Version  int             `json:"version"`
	Host     string          `json:"host"` // the build that described it: others may describe it differently
	Digest   string          `json:"digest"`
	Dialect  string          `json:"dialect"`
	Memory   uint64          `json:"memory"`
	Beside   uint64          `json:"beside"`
	Manifest json.RawMessage `json:"manifest"`
}

// Open reads the cache of a folder, which is created with mode 0700 on the first write; "" stores nothing between runs.
// An unusable file is logged and ignored.
func Open(dir string, log *slog.Logger) *Cache {
	c := &Cache{dir: dir, log: log, host: thisBuild(), digests: map[string]string{}, used: map[string]bool{}}
	if dir == "" {
		return c
	}
	raw, err := readBounded(c.digestsFile(), maxCacheFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c
	}
	var d cachedDigests
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil || d.Version != cacheVersion {
		log.Warn("the cache of digests is damaged and is rebuilt", "file", c.digestsFile(), "error", err)
		return c
	}
	for key, digest := range d.Digests {
		if _, ok := fileid.Hex(digest); ok && len(c.digests) < maxCached {
			c.digests[key] = digest
		}
	}
	return c
}

func (c *Cache) digestsFile() string { return filepath.Join(c.dir, "digests.json") }

func (c *Cache) moduleFile(digest string) string {
	digits, _ := fileid.Hex(digest)
	return filepath.Join(c.dir, "manifests", digits+".json")
}

// Digest returns the digest of the file with this stamp.
func (c *Cache) Digest(s fileid.Stamp) (string, bool) {
	key := s.Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.digests[key]
	if ok {
		c.used[key] = true
	}
	return d, ok
}

// PutDigest stores the digest of the file with this stamp.
func (c *Cache) PutDigest(s fileid.Stamp, digest string) {
	key := s.Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digests[key], c.used[key] = digest, true
	c.changed = true
}

// Forget removes an entry that turned out to be wrong.
func (c *Cache) Forget(s fileid.Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.digests, s.Key())
	c.changed = true
}

// thisBuild returns the version of this program, which includes the commit.
func thisBuild() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return b.Main.Version
}

// Module is the description of the module with one digest.
type Module struct {
	Dialect  string // its name
	Memory   uint64 // bytes of memory at the start
	Beside   uint64 // bytes of host memory beside it
	Manifest json.RawMessage
}

// Module returns the description stored for a digest.
func (c *Cache) Module(digest string) (m Module, ok bool) {
	if c.dir == "" {
		return Module{}, false
	}
	raw, err := readBounded(c.moduleFile(digest), manifest.MaxSize+manifest.MaxDefinition)
	if err != nil || jsonraw.Valid(raw) != nil {
		return Module{}, false
	}
	named, _ := jsonraw.String(jsonraw.Get(raw, "digest"))
	m.Dialect, _ = jsonraw.String(jsonraw.Get(raw, "dialect"))
	m.Manifest = jsonraw.Get(raw, "manifest")
	m.Memory, err = strconv.ParseUint(string(jsonraw.Get(raw, "memory")), 10, 64)
	beside, unread := strconv.ParseUint(string(jsonraw.Get(raw, "beside")), 10, 64)
	m.Beside, err = beside, errors.Join(err, unread)
	host, _ := jsonraw.String(jsonraw.Get(raw, "host"))
	current := string(jsonraw.Get(raw, "version")) == strconv.Itoa(cacheVersion) && host == c.host
	return m, err == nil && current && named == digest && m.Dialect != "" && m.Manifest != nil
}

// PutModule stores the description of a digest.
func (c *Cache) PutModule(digest string, m Module) {
	if c.dir == "" {
		return
	}
	raw, err := json.Marshal(cachedModule{Version: cacheVersion, Host: c.host, Digest: digest, Dialect: m.Dialect, Memory: m.Memory, Beside: m.Beside, Manifest: m.Manifest})
	if err == nil {
		err = writeAtomic(c.moduleFile(digest), raw)
	}
	if err != nil {
		c.log.Warn("a manifest was not cached", "error", err)
	}
}

// Flush writes the digests if there are new ones.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" || !c.changed {
		return
	}
	c.shrink()
	raw, err := json.Marshal(cachedDigests{Version: cacheVersion, Digests: c.digests})
	if err == nil {
		err = writeAtomic(c.digestsFile(), raw)
	}
	if err != nil {
		c.log.Warn("digests were not cached", "error", err)
		return
	}
	c.changed = false
}

// shrink drops keys not used in this run, once there are too many.
func (c *Cache) shrink() {
	for key := range c.digests {
		if len(c.digests) <= maxCached {
			return
		}
		if !c.used[key] {
			delete(c.digests, key)
		}
	}
}

// Close writes new digests and shrinks the folder to its limits.
func (c *Cache) Close() {
	c.Flush()
	c.shrinkModules()
}

// shrinkModules removes the oldest manifests once there are too many.
func (c *Cache) shrinkModules() {
	if c.dir == "" {
		return
	}
	entries, err := os.ReadDir(filepath.Join(c.dir, "manifests"))
	if err != nil || len(entries) <= maxCached {
		return
	}
	age := map[string]int64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			age[e.Name()] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(age[a.Name()], age[b.Name()]) })
	for _, e := range entries[:len(entries)-maxCached/2] {
		os.Remove(filepath.Join(c.dir, "manifests", e.Name()))
	}
}

// errTooLarge is the error for a file over its limit.
var errTooLarge = errors.New("file is too large")

// readBounded reads a file of at most max bytes.
func readBounded(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > max {
		return nil, errTooLarge
	}
	raw := make([]byte, info.Size())
	n, err := io.ReadFull(f, raw)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return raw[:n], err
}

// writeAtomic replaces a file atomically: a reader sees the old or the new contents. The file is owner-only.
func writeAtomic(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // created with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
