package registry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
)

// approvals relates plugin names and files to the lock, and words the operator's next step.
type approvals struct {
	lock  *lock.Lock // nil: all bytes are approved
	dir   string     // the plugin folder
	typed string     // Options.Typed
}

// covers reports whether a file was approved under a name.
func (a approvals) covers(name, path string) bool {
	if a.lock == nil {
		return false
	}
	pin, ok := a.lock.Pin(name)
	return ok && pin.Digest != "" && pin.File == filepath.Base(path) && !a.provisional(name)
}

// provisional reports whether the pin of a name is not written, since this host does not write the lock: it was never
// approved.
func (a approvals) provisional(name string) bool {
	return a.lock.ReadOnly() && a.lock.Unwritten(name)
}

// of returns the plan of a name with the approved file; nil if there is none, or two.
func (a approvals) of(same []*plan) (found *plan) {
	for _, p := range same {
		if p.path == "" || !a.covers(p.name, p.path) {
			continue
		}
		if found != nil {
			return nil
		}
		found = p
	}
	return found
}

// inOtherFolder reports whether a plugin is pinned in a different folder that shares this state folder.
func (a approvals) inOtherFolder(name string) bool {
	if a.lock == nil {
		return false
	}
	pin, _ := a.lock.Pin(name)
	if pin.Folder == "" || pin.Folder == a.dir {
		return false
	}
	_, err := os.Stat(filepath.Join(pin.Folder, pin.File))
	return err == nil
}

// named returns the pin of a digest that the settings name and the file of a plan does not have.
func (a approvals) named(p *plan, digest string) *lock.Pin {
	if pin, _ := a.lock.Pin(p.name); pin.Digest == digest {
		return &pin
	}
	pin := lock.Pin{Digest: digest}
	if t, err := a.lock.Copies.Terms(digest); err == nil {
		pin = t.Pin(p.path)
	}
	return &pin
}

// bytesOf reads the bytes of a module again: from its file, or from the stored copy.
func (a approvals) bytesOf(m *plugin.Module) ([]byte, error) {
	wasm, _, err := toolfile.Read(m.Path)
	if err == nil && fileid.Digest(wasm) == m.Digest {
		return wasm, nil
	}
	if a.lock != nil && a.lock.Copies.Has(m.Digest) {
		if kept, _, err := fileid.Read(a.lock.Copies.Path(m.Digest)); err == nil && fileid.Digest(kept) == m.Digest {
			return kept, nil
		}
	}
	return nil, errors.Join(plugin.ErrReplaced, err)
}

// command returns the command with which the operator reviews and approves a held plugin.
func (a approvals) command(name string) string {
	if a.typed == "" {
		return "sallyport approve " + name
	}
	return "sallyport approve " + name + " " + a.typed
}

// pendingReason returns why bytes do not serve, and the command to type.
func (a approvals) pendingReason(name string, pin lock.Pin, digest string) string {
	approve := a.command(name)
	switch {
	case a.lock.Unread() != nil:
		return fmt.Sprintf("the approvals cannot be read, and nothing serves until then: %v", a.lock.Unread())
	case pin.Refused(digest) && pin.Digest != "":
		return fmt.Sprintf("the file's new bytes (%s) were rejected, and the approved ones serve; %s asks again", short(digest), approve)
	case pin.Refused(digest):
		return fmt.Sprintf("these bytes (%s) were rejected; %s asks again", short(digest), approve)
	case pin.Digest != "" && !a.lock.Copies.Has(pin.Digest):
		return fmt.Sprintf("the file's bytes (%s) are held: others (%s%s) were approved under this name, and are not kept here; %s shows the difference",
			short(digest), short(pin.Digest), a.elsewhere(pin), approve)
	case pin.Digest != "":
		return fmt.Sprintf("the file's new bytes (%s) are held, and the approved ones (%s%s) serve; %s shows the difference",
			short(digest), short(pin.Digest), a.elsewhere(pin), approve)
	}
	return fmt.Sprintf("it is not in the lock file, and nothing else may serve; %s shows it", approve)
}

// elsewhere returns the former path of a pinned file if that is in a different folder.
func (a approvals) elsewhere(pin lock.Pin) string {
	if pin.Folder == "" || pin.Folder == a.dir {
		return ""
	}
	return ", from " + filepath.Join(pin.Folder, pin.File)
}

// notNamed returns why bytes do not serve that differ from the digest in the settings.
func notNamed(digest, named string) string {
	return fmt.Sprintf("its bytes are %s, and digest: of the settings names %s: put that file there, or change the line", digest, named)
}

// short abbreviates a digest.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }
