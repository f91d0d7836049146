package main

import (
	"fmt"
	"path/filepath"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/registry"
)

// identity compares a digest with the one pinned for a name, and reports whether they differ. An unreadable lock is
// ignored: serve reports it.
func identity(s *settings.Settings, name, digest string) (text string, others bool) {
	l, err := host.ReadLock(s)
	if err != nil {
		return "", false
	}
	defer l.Close()
	pin, _ := l.Pin(name)
	switch pin.Digest {
	case "":
		return fmt.Sprintf("nothing is pinned under the name %s yet", ui.Line(name)), false
	case digest:
		return fmt.Sprintf("pinned: serve has these bytes for %s", ui.Line(name)), false
	}
	return fmt.Sprintf("not the bytes that serve has for %s (%.19s, from %s): serve holds these until sallyport approve %s DIR",
		ui.Line(name), pin.Digest, ui.Line(filepath.Join(pin.Folder, pin.File)), ui.Line(name)), true
}

// warnOfOthers warns on standard error about plugins that serve would not load with these bytes.
func warnOfOthers(s *settings.Settings, std stdio, plugins []registry.Status) {
	for _, p := range plugins {
		if text, others := identity(s, p.Name, p.Digest); others && p.File != "" {
			fmt.Fprintln(std.err, "these are "+text)
		}
	}
}
