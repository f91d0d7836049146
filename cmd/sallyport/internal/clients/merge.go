package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// maxFile bounds a client's file; some keep their whole history in it.
const maxFile = 64 << 20

// Merge returns the text of a client's file with the entry for s in it, everything else unchanged.
// An empty text is a new file.
func (c Client) Merge(text []byte, s Server) ([]byte, error) {
	entry, err := c.entry(s)
	if err != nil {
		return nil, err
	}
	var file rawjson.Object
	if len(bytes.TrimSpace(text)) > 0 {
		if file, err = object(text); err != nil {
			return nil, err
		}
	}
	var servers rawjson.Object
	if old := file.Get(c.section); old != nil {
		if servers, err = object(old); err != nil {
			return nil, fmt.Errorf("%s: %w", c.section, err)
		}
	}
	old := servers.Get(entryName)
	if entry, err = overEntry(old, entry); err != nil {
		return nil, err
	}
	if same(old, entry) {
		return nil, ErrUnchanged
	}
	servers.Set(entryName, entry)
	file.Set(c.section, servers.Append(nil))
	var out bytes.Buffer
	if err := json.Indent(&out, file.Append(nil), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// overEntry is entry with what the person added to the old one: everything but how the server is reached.
func overEntry(old, entry json.RawMessage) (json.RawMessage, error) {
	if old == nil {
		return entry, nil
	}
	was, err := rawjson.ParseObject(old)
	if err != nil {
		return entry, nil // not an entry: there is nothing to keep
	}
	out, err := rawjson.ParseObject(entry)
	if err != nil {
		return nil, err
	}
	for _, m := range was {
		if !slices.Contains(reach, m.Key) {
			out.Set(m.Key, m.Value)
		}
	}
	return out.Append(nil), nil
}

// reach are the members of an entry that say how the server is reached, in the words of all clients.
var reach = []string{"type", "command", "args", "url", "httpUrl", "headers"}

func object(text []byte) (rawjson.Object, error) {
	o, err := rawjson.ParseObject(bytes.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("not plain JSON (%w); add the entry by hand", err)
	}
	return o, nil
}

// same compares two JSON texts without their white space.
func same(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// Write merges the entry into file, whole or not at all, and returns the name of the backup, "" if
// the file is new. ErrUnchanged says that nothing was written.
func (c Client) Write(file string, s Server) (backup string, err error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // the link stays, what it leads to changes
	}
	old, mode, err := read(file)
	if err != nil {
		return "", err
	}
	if mode&0o200 == 0 {
		return "", fmt.Errorf("%s is read-only; make it writable, or add the entry that is printed without --write by hand", file)
	}
	text, err := c.Merge(old, s)
	if errors.Is(err, ErrUnchanged) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if old != nil {
		backup = file + ".bak-" + time.Now().UTC().Format("20060102T150405.000")
		if err := replace(backup, old, mode); err != nil {
			return "", err
		}
	}
	return backup, replace(file, text, mode)
}

// read returns what file holds, nil if it does not exist, and the mode to write it with.
func read(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(file) // before Open, which would wait at a named pipe
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() { // and a device would be replaced by a file
		return nil, 0, fmt.Errorf("%s: not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB", file, maxFile>>20)
	}
	return append([]byte{}, text...), info.Mode().Perm(), err
}

// replace writes a file beside its place and moves it there.
func replace(file string, text []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already when the move succeeded
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
