// Package private holds that what the program keeps, such as tokens and keys, is its owner's alone.
package private

import (
	"fmt"
	"os"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
)

// Folder makes a folder that only its owner can enter. One that is there must be ours, and others
// must not be able to write to it: they could exchange the token, or let a link lead the log elsewhere.
func Folder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return voice.Hint(err, "name a folder of your own with --state FOLDER")
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
