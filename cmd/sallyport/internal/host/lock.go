package host

import (
	"errors"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// OpenLock opens the lock of these settings: the file that they name, else the database, else the file of the state folder.
// It creates the state folder. The caller must close the lock, or give it to Open.
func OpenLock(s *settings.Settings, o lock.Options) (*lock.Lock, error) {
	if err := userfile.MakeFolder(s.Text("state")); err != nil {
		return nil, err
	}
	o.Locked = o.Locked || s.Bool("locked")
	l, err := openLock(s, o)
	var broken *lock.FileError
	if errors.As(err, &broken) {
		return nil, ui.Hint(err, "its plugins do not serve: put a good copy in its place, or remove it to trust the present bytes")
	}
	return l, err
}

// OpenServedLock is OpenLock for a host that serves: while the database is away it approves nothing. took is as in Options.
func OpenServedLock(s *settings.Settings, took func(operation string, d time.Duration, err error)) (*lock.Lock, error) {
	o := lock.Options{Later: true}
	if s.SharesLock() {
		o.Store = openStore(s, took)
	}
	return OpenLock(s, o)
}

// ReadLock opens the lock of these settings to read its pins, and makes no folder. The caller must close it.
func ReadLock(s *settings.Settings) (*lock.Lock, error) {
	return openLock(s, lock.Options{ReadOnly: true})
}

func openLock(s *settings.Settings, o lock.Options) (*lock.Lock, error) {
	o.File, o.Keep = s.LockFile(), s.State().Approved()
	if s.SharesLock() && o.Store == nil {
		o.Store = OpenStore(s)
	}
	l, err := lock.Open(o)
	if err != nil && o.Store != nil {
		err = errors.Join(err, o.Store.Close())
	}
	return l, err
}
