package userfile

import (
	"fmt"
	"os"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
)

// MakeFolder creates an owner-only folder. An existing one must belong to this user and must not be writable by others, who
// who could replace the token or redirect the log with a link.
func MakeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return ui.Hint(err, "name a folder of your own with --state FOLDER")
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !ours(info) {
		return fmt.Errorf("state folder %s: others can write to it (mode %04o); use a folder of your own, or chmod 700 it",
			path, info.Mode().Perm())
	}
	return nil
}
