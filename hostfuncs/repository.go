package hostfuncs

import (
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
)

// maxHead limits the bytes read of a file HEAD.
const maxHead = 256

// isRepository reports whether git may take a folder for a repository by its file HEAD, as validate_headref in git's
// path.c does. It ignores all other files of the folder, which may come later.
func isRepository(folder string) bool {
	name := filepath.Join(filepath.FromSlash(folder), "HEAD")
	info, err := os.Lstat(name)
	if err != nil {
		return false
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		return err == nil && strings.HasPrefix(filepath.ToSlash(target), "refs/") || headOf(name)
	}
	return info.Mode().IsRegular() && headOf(name)
}

// headOf reports whether a file begins like a HEAD: with "ref: refs/" or an object name.
func headOf(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|system.NoBlock, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, maxHead)
	n, _ := io.ReadFull(f, begin)
	text := string(begin[:n])
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t\n\v\f\r"), "refs/")
	}
	_, err = hex.DecodeString(text[:min(len(text), 40)])
	return err == nil && len(text) >= 40
}
