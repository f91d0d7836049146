package jail

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
)

// mount is a Mount in use. Its folder is opened at first use and stays open, so that it is the same folder for the
// whole call.
type mount struct {
	host, guest string
	root        *os.Root // nil until opened, and while host is no folder
	real        string   // host without links, once opened: decisions are made on it
	name        string   // host without links except for its last name, once resolved
}

// GuestPath returns the default guest path of a host path: the path itself, with C:\x as /c/x.
func GuestPath(host string) string {
	vol := filepath.VolumeName(host)
	rest := filepath.ToSlash(host[len(vol):])
	if vol != "" {
		rest = "/" + strings.ToLower(strings.Trim(filepath.ToSlash(strings.TrimSuffix(vol, ":")), "/")) + rest
	}
	return cleanGuest(rest)
}

func cleanGuest(p string) string { return path.Clean("/" + p) }

// HostPath is the inverse of GuestPath. It names paths outside all mounts in denials.
func HostPath(guest string) string {
	if drive, rest, _ := strings.Cut(guest[1:], "/"); os.PathSeparator == '\\' && len(drive) == 1 {
		return strings.ToUpper(drive) + `:\` + filepath.FromSlash(rest)
	}
	return filepath.FromSlash(guest)
}

// open sets m.root if host is a folder now.
func (m *mount) open() error {
	if m.root != nil {
		return nil
	}
	st, err := os.Stat(m.host)
	if err != nil || !st.IsDir() {
		return err
	}
	real, err := filepath.EvalSymlinks(m.host)
	if err != nil {
		return err
	}
	root, err := openAt(real)
	if err != nil {
		return err
	}
	m.root, m.real = root, real
	return nil
}

// openAt opens the folder at a path without links. The error is raced if a link is on the way by now.
func openAt(real string) (*os.Root, error) {
	root, err := os.OpenRoot(real + string(os.PathSeparator) + ".") // the dot keeps a fifo from blocking
	if err != nil {
		return nil, err
	}
	if err := system.Settled(root, real); err != nil {
		_ = root.Close()
		if errors.Is(err, system.ErrMoved) {
			err = raced
		}
		return nil, err
	}
	return root, nil
}

// anchor opens the parent folder of a mount that is no folder: a file, or a path without an object. The returned path
// is that of the mount without links, except for a dangling last link.
func (m *mount) anchor() (*os.Root, string, error) {
	at, err := filepath.EvalSymlinks(m.host)
	if errors.Is(err, fs.ErrNotExist) {
		at, err = filepath.EvalSymlinks(filepath.Dir(m.host))
		at = filepath.Join(at, filepath.Base(m.host))
	}
	if err != nil {
		return nil, "", err
	}
	root, err := openAt(filepath.Dir(at))
	return root, at, err
}

// site returns the path of the mount's own name, without links on the way to it.
func (m *mount) site() string {
	if m.name == "" {
		m.name = m.host
		if dir, err := filepath.EvalSymlinks(filepath.Dir(m.host)); err == nil {
			m.name = filepath.Join(dir, filepath.Base(m.host))
		}
	}
	return m.name
}

func (m *mount) close() {
	if m.root != nil {
		_ = m.root.Close()
		m.root = nil
	}
}

// toGuest returns the guest path of a host path, if this mount covers it.
func (m *mount) toGuest(host string) (string, bool) {
	for _, base := range []string{m.host, m.real} {
		if base == "" {
			continue
		}
		if rest, ok := cutPrefix(host, base); ok {
			return path.Join(m.guest, filepath.ToSlash(rest)), true
		}
	}
	return "", false
}

// under returns the rest of a guest path below the folder base.
func under(guest, base string) (string, bool) {
	if guest == base {
		return "", true
	}
	return strings.CutPrefix(guest, strings.TrimSuffix(base, "/")+"/")
}

// cutPrefix returns the rest of a cleaned path below the folder prefix, with the system's separators.
func cutPrefix(path, prefix string) (string, bool) {
	if path == prefix {
		return "", true
	}
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok || strings.HasSuffix(prefix, string(os.PathSeparator)) {
		return rest, ok
	}
	if rest, ok = strings.CutPrefix(rest, string(os.PathSeparator)); !ok {
		return path, false // a sibling with the same prefix
	}
	return rest, true
}
