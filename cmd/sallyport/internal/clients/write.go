package clients

import (
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
)

// Write puts the entry into file atomically, and returns the name of the backup, "" if the file is new. Errors are
// those of Merge and of userfile.Change.
func (c Client) Write(file, name string, s Server, replace bool) (backup string, err error) {
	return change(file, func(old []byte) ([]byte, error) { return c.Merge(old, name, s, replace) })
}

// Delete removes the entry from file atomically, and returns the name of the backup. Errors are those of Remove and of
// userfile.Change.
func (c Client) Delete(file, name string) (backup string, err error) {
	return change(file, func(old []byte) ([]byte, error) { return c.Remove(old, name) })
}

func change(file string, edit func([]byte) ([]byte, error)) (backup string, err error) {
	return userfile.Change(file, func(old []byte) ([]byte, error) {
		text, err := edit(old)
		var taken *TakenError
		if err == nil || errors.Is(err, ErrUnchanged) || errors.Is(err, ErrNoEntry) || errors.As(err, &taken) {
			return text, err
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}, userfile.Options{Backup: true})
}
