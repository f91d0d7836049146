package lock

import (
	"bytes"
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

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

const (
	// MaxSize bounds the file, in bytes: a thousand plugins with a hundred definitions each have 12 MiB.
	MaxSize = 16 << 20
	// MaxPlugins bounds the plugins of one lock file; a folder of a thousand is large.
	MaxPlugins = 8192
	// fileVersion is changed when the file means something else.
	fileVersion = 1
)

// content is the form of the file.
type content struct {
	Version int            `json:"version"`
	Plugins map[string]Pin `json:"plugins"`
}

// Parse reads a lock file: the pins by the plugins' names. An error names the line where it can.
func Parse(raw []byte) (map[string]Pin, error) {
	if len(raw) > MaxSize {
		return nil, errTooLarge
	}
	if err := rawjson.Valid(raw); err != nil {
		return nil, err
	}
	if key, found := rawjson.DuplicateKey(raw); found {
		return nil, fmt.Errorf("the key %s stands there twice", key)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var c content
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(raw[:min(int(d.InputOffset()), len(raw))], []byte("\n")), plain(err))
	}
	if c.Version != fileVersion {
		return nil, fmt.Errorf("it is of version %d, and this program reads version %d", c.Version, fileVersion)
	}
	if len(c.Plugins) > MaxPlugins {
		return nil, fmt.Errorf("over %d plugins", MaxPlugins)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		if err := c.Plugins[name].check(); err != nil {
			return nil, fmt.Errorf("plugin %q: %w", name, err)
		}
	}
	return c.Plugins, nil
}

var errTooLarge = fmt.Errorf("it is over %d MiB", MaxSize>>20)

// plain says of a mistake in the JSON what a person can mend.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s cannot be a %s", kind.Field, kind.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// check refuses what this package never writes.
func (p Pin) check() error {
	digests := slices.Concat(p.Rejected, slices.Collect(maps.Values(p.Definitions)))
	if p.Digest != "" || len(p.Rejected) == 0 {
		digests = append(digests, p.Digest)
	}
	for _, d := range digests {
		if _, ok := digits(d); !ok {
			return fmt.Errorf("%.100q is no digest", d)
		}
	}
	for _, w := range p.Wants {
		if _, err := rawjson.ParseObject(w); err != nil {
			return fmt.Errorf("a want is no object: %w", err)
		}
	}
	if strings.ContainsAny(p.File, `/\`) {
		return fmt.Errorf("the file %.100q is more than a name", p.File)
	}
	return nil
}

// digits are the hexadecimal digits of a digest, and whether it is one.
func digits(digest string) (string, bool) {
	text, ok := strings.CutPrefix(digest, "sha256:")
	raw, err := hex.DecodeString(text)
	return text, ok && err == nil && len(raw) == 32 && text == strings.ToLower(text)
}

// encode is the file of pins, the same for the same pins.
func encode(pins map[string]Pin) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(content{Version: fileVersion, Plugins: pins})
	return out.Bytes(), err
}

// read returns the pins of a file; one that is not there has none.
func read(file string) (map[string]Pin, error) {
	raw, err := readBounded(file, MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Pin{}, nil
	}
	pins, err := parsed(raw, err)
	if err != nil {
		return nil, &FileError{File: file, Err: err}
	}
	return pins, nil
}

func parsed(raw []byte, err error) (map[string]Pin, error) {
	if err != nil {
		return nil, err
	}
	pins, err := Parse(raw)
	if pins == nil {
		pins = map[string]Pin{}
	}
	return pins, err
}

// FileError is why a lock file cannot be used. Nothing is trusted that it may have spoken of.
type FileError struct {
	File string
	Err  error
}

// Error is the file and the cause.
func (e *FileError) Error() string { return fmt.Sprintf("lock file %s: %v", e.File, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// readBounded reads a regular file of at most max bytes. Errors do not name it, but for one that is not there.
func readBounded(path string, max int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would be waited at for ever
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, max+1))
	if int64(len(raw)) > max {
		err = errTooLarge
	}
	return raw, err
}

// replace puts a file in the place of another: a reader, and a machine that loses its power, has the old one
// or the new one whole.
func replace(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a new name last; where folders cannot be synced there is nothing better.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
