package host

import (
	"errors"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// OpenLock opens the lock file of these settings. It creates the state folder.
func OpenLock(s *settings.Settings, o lock.Options) (*lock.Lock, error) {
	if err := userfile.MakeFolder(s.Text("state")); err != nil {
		return nil, err
	}
	o.File, o.Keep = s.LockFile(), s.State().Approved()
	o.Locked = o.Locked || s.Bool("locked")
	l, err := lock.Open(o)
	var broken *lock.FileError
	if errors.As(err, &broken) {
		return nil, ui.Hint(err, "its plugins do not serve: put a good copy in its place, or remove it to trust the present bytes")
	}
	return l, err
}
