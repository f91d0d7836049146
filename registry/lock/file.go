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

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// maxSize limits the file, in bytes: a thousand plugins with a hundred definitions each take 12 MiB.
	maxSize = 16 << 20
	// maxPlugins limits the plugins of one lock file; a folder of a thousand is large.
	maxPlugins = 8192
	// fileVersion is the version of the file format.
	fileVersion = 1
)

// content is the JSON form of the file.
type content struct {
	Version int            `json:"version"`
	Plugins map[string]Pin `json:"plugins"`
}

// parse parses a lock file and returns the pins by plugin name. An error names the line where it can.
func parse(raw []byte) (map[string]Pin, error) {
	if len(raw) > maxSize {
		return nil, errTooLarge
	}
	if err := jsonraw.Valid(raw); err != nil {
		return nil, err
	}
	if key, found := jsonraw.DuplicateKey(raw); found {
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
	if len(c.Plugins) > maxPlugins {
		return nil, fmt.Errorf("over %d plugins", maxPlugins)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		if err := c.Plugins[name].check(); err != nil {
			return nil, fmt.Errorf("plugin %q: %w", name, err)
		}
	}
	return c.Plugins, nil
}

var errTooLarge = fmt.Errorf("it is over %d MiB", maxSize>>20)

// plain rewords a JSON error for the operator.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s cannot be a %s", kind.Field, kind.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// check rejects values that this package never writes.
func (p Pin) check() error {
	digests := slices.Concat(p.Rejected, p.Replaced, slices.Collect(maps.Values(p.Definitions)))
	if p.Digest != "" || len(p.Rejected) == 0 {
		digests = append(digests, p.Digest)
	}
	for _, d := range digests {
		if _, ok := digits(d); !ok {
			return fmt.Errorf("%.100q is no digest", d)
		}
	}
	for _, w := range p.Wants {
		if _, err := jsonraw.ParseObject(w); err != nil {
			return fmt.Errorf("a want is no object: %w", err)
		}
	}
	if strings.ContainsAny(p.File, `/\`) {
		return fmt.Errorf("the file %.100q is more than a name", p.File)
	}
	return p.Origin.check()
}

// maxOrigin limits the text of an origin, in bytes; that of an address bar of browsers.
const maxOrigin = 2048

// check is the part of Pin.check for an origin, nil for none.
func (o *Origin) check() error {
	if o == nil {
		return nil
	}
	if _, ok := digits(o.Digest); !ok {
		return fmt.Errorf("%.100q is no digest", o.Digest)
	}
	if o.From == "" || len(o.From) > maxOrigin {
		return fmt.Errorf("the origin %.100q is none", o.From)
	}
	if (o.Index == "") != (o.Entry == "") || len(o.Index) > maxOrigin || len(o.Entry) > maxOrigin {
		return fmt.Errorf("the index %.100q with the name %.100q is none", o.Index, o.Entry)
	}
	return nil
}

// digits returns the hexadecimal digits of a digest, and whether it is valid.
func digits(digest string) (string, bool) {
	text, ok := strings.CutPrefix(digest, "sha256:")
	raw, err := hex.DecodeString(text)
	return text, ok && err == nil && len(raw) == 32 && text == strings.ToLower(text)
}

// encode returns the file of pins, in a canonical form.
func encode(pins map[string]Pin) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(content{Version: fileVersion, Plugins: pins})
	if err == nil && out.Len() > maxSize {
		err = errTooLarge // nobody could read it
	}
	return out.Bytes(), err
}

// read returns the pins of a file, empty if it does not exist.
func read(file string) (map[string]Pin, error) {
	raw, err := readBounded(file, maxSize)
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
	pins, err := parse(raw)
	if pins == nil {
		pins = map[string]Pin{}
	}
	return pins, err
}

// FileError is the error for an unusable lock file. No plugin is trusted in that case.
type FileError struct {
	File string
	Err  error
}

// Error returns the file and the cause.
func (e *FileError) Error() string { return fmt.Sprintf("lock file %s: %v", e.File, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// readBounded reads a regular file of at most max bytes. Errors do not name the file, except fs.ErrNotExist.
func readBounded(path string, max int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would block for ever
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

// replace writes a file atomically: a reader, also after a power failure, finds either the old or the new contents.
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

// syncFolder makes a rename durable, on a best-effort basis.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
