package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/private"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// addLockFlags are the flags of commands that load a folder.
func addLockFlags(c *cobra.Command) {
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	c.Flags().Bool("locked", false, "serve nothing that is not in the lock file")
	c.Flags().Bool("trust-on-first-use", false, "put into the lock file what is seen first; this is the default")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		trust, err := c.Flags().GetBool("trust-on-first-use")
		switch {
		case err != nil || !trust:
			return err
		case c.Flags().Changed("locked"):
			return errors.New("--locked and --trust-on-first-use say two things: give one")
		}
		return c.Flags().Set("locked", "false")
	}
}

// lockFile is the lock file of these settings: the one that was named, or one for the plugin folder. It never
// lies in that folder by itself: what arrives with a plugin approves nothing.
func lockFile(s *settings.Settings) string {
	if file := s.Text("lock"); file != "" {
		return file
	}
	dir := s.Text("dir")
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(s.Text("state"), "locks", plainName(filepath.Base(dir))+"-"+hex.EncodeToString(sum[:4]), "sallyport.lock")
}

// plainName is what of a folder's name any file system can have in another name.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name[:min(len(name), 40)])
}

// openLock reads the lock file of these settings.
func openLock(s *settings.Settings, o lock.Options) (*lock.Lock, error) {
	if err := private.Folder(s.Text("state")); err != nil {
		return nil, err
	}
	o.File, o.Keep = lockFile(s), filepath.Join(s.Text("state"), "approved")
	o.Locked = o.Locked || s.Bool("locked")
	l, err := lock.Open(o)
	var broken *lock.FileError
	if errors.As(err, &broken) {
		return nil, voice.Hint(err, "nothing serves that it may have spoken of: put a good copy in its place, or remove it to trust what is there now")
	}
	return l, err
}

// beforehand says what an operator approved before it was there.
func beforehand(updates string) string {
	if updates == string(registry.UpdatesDev) {
		return "dev: whatever its file holds serves, under its grants"
	}
	return "updates: same-interface: new bytes serve that import, want and offer the same"
}
