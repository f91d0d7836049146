package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/extismfile"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// plan is one plugin that should exist: a name with a file or with built-in code. Its contents and its approval are
// set last, by the approver.
type plan struct {
	name         string
	path         string // "" for built-in code
	file         *file  // nil: there is no such file
	manifestFile *file  // the Extism manifest that names file; nil if there is none
	config       Config
	own          Config // the operator's configuration, before a manifest narrowed it
	err          error  // why there can be no such plugin
	held         error  // why it may not serve
	rival        bool   // held because a different file was approved under its name

	contents
	approval
}

// contents is the module, document or built-in code that may serve.
type contents struct {
	module *plugin.Module       // nil: none, or not yet
	code   *plugin.Code         // serves in place of a module
	text   *document.Document   // the document with that code; nil for none
	extism *extismfile.Manifest // the Extism manifest in force; nil for none
}

// approval relates the newest bytes of a plugin to those that were approved.
type approval struct {
	pin           *lock.Pin // the approved terms; nil: no approval needed
	pending       string    // the digest of bytes that wait for approval in place of those that serve; "" is none
	pendingReason string    // why they wait
	copy          string    // the stored copy that the module comes from; "" for the plugin's own file
	loading       bool      // the approved bytes are yet to be loaded from that copy
}

// key identifies a plugin by name and path.
func (p *plan) key() string { return p.name + "\x00" + p.path }

// where names the file of a plan in messages.
func (p *plan) where() string {
	if p.path == "" {
		return "the host's own"
	}
	return filepath.Base(p.path)
}

// files lists the files of plans.
func files(plans []*plan) string {
	var where []string
	for _, p := range plans {
		where = append(where, p.where())
	}
	return strings.Join(where, ", ")
}

// setText sets the document that serves; nil is none.
func (c *contents) setText(d *document.Document) {
	if c.text, c.code = d, nil; d != nil {
		c.code = &plugin.Code{Manifest: d.Manifest, Serve: d.Serve, Skill: d.Skill}
	}
}

// manifest returns the plugin's manifest; nil if it is not known yet.
func (c *contents) manifest() *manifest.Manifest {
	switch {
	case c.code != nil:
		return c.code.Manifest
	case c.module != nil:
		return c.module.Manifest
	}
	return nil
}

// lacksApproved reports whether a plan with a file has approved bytes, and none of them to serve.
func (p *plan) lacksApproved() bool {
	return p.pin != nil && p.pin.Digest != "" && p.module == nil && p.text == nil && !p.config.Disabled && !p.rival
}

// serves reports whether a plan can serve.
func (p *plan) serves() bool {
	return p.err == nil && p.held == nil && !p.config.Disabled && (p.code != nil || p.module != nil)
}

// isThere reports whether the file of a plan exists though it is not loaded: it may still be being written.
func (p *plan) isThere() bool {
	path := p.path
	if p.manifestFile != nil && p.manifestFile.extism != nil {
		path = p.manifestFile.extism.Module
	}
	if manifest, ok := extismfile.ManifestOf(path); ok {
		path = manifest
	}
	_, err := os.Stat(path)
	return err == nil
}

// missing returns the error for a plugin without a file.
func (p *plan) missing() error {
	if p.manifestFile != nil && p.manifestFile.extism != nil && p.manifestFile.extism.Module != "" {
		return fmt.Errorf("there is no file %s, which the manifest names", filepath.Base(p.manifestFile.extism.Module))
	}
	if n := len(p.config.Grants.Lines()); n > 0 {
		return fmt.Errorf("there is no file %s in %s, so its grants match nothing", filepath.Base(p.path), filepath.Dir(p.path))
	}
	return fmt.Errorf("there is no file %s in %s", filepath.Base(p.path), filepath.Dir(p.path))
}

// extismWarnings returns the warnings about a plugin's Extism manifest.
func (p *plan) extismWarnings() []string {
	m := p.manifestFile.manifest()
	if m == nil {
		return nil
	}
	warnings := slices.Clone(m.Problems)
	if n := len(m.Wants); n > 0 && len(p.config.Grants.Lines()) == 0 {
		warnings = append(warnings, fmt.Sprintf("the manifest asks for %s, and nothing is granted; sallyport inspect %s shows the lines to grant",
			placesOf(n), filepath.Base(p.path)))
	}
	if p.manifestFile.err != nil {
		warnings = append(warnings, fmt.Sprintf("the new manifest is not used, the old one is: %v", p.manifestFile.err))
	}
	return warnings
}

// placesOf formats the number of a manifest's wants.
func placesOf(n int) string {
	if n == 1 {
		return "1 host or path"
	}
	return fmt.Sprintf("%d hosts and paths", n)
}

// fitting binds the grants of a plan to the plugin's entries. The error names the grant line.
func (p *plan) fitting() (*grant.Set, error) {
	m := p.manifest()
	if m == nil || !p.config.Grants.Lines().Varies() {
		return p.config.Grants, nil
	}
	return p.config.Grants.Fit(plugin.Shapes(m))
}

// unfit reports why the settings of a plan do not fit its plugin; nil if they do.
func (p *plan) unfit(defaults runtime.Limits) error {
	if _, err := p.fitting(); err != nil {
		return fmt.Errorf("its grants do not fit: %w", err)
	}
	if p.module == nil {
		return nil
	}
	return p.config.Limits.Or(defaults).CheckStart(p.module.Memory, p.module.Beside, false)
}

// pinned returns the hashes of the approved definitions, possibly empty; nil if none need approval.
func (a *approval) pinned() map[string]string {
	if a.pin == nil {
		return nil
	}
	if a.pin.Definitions == nil {
		return map[string]string{}
	}
	return a.pin.Definitions
}

// sameFile reports whether the file of a plan is the approved one, not one of the same name in a different folder:
// updates apply to the approved file only.
func (p *plan) sameFile() bool {
	return p.pin != nil && p.config.Digest == "" && p.pin.File == filepath.Base(p.path) && (p.pin.Folder == "" || p.pin.Folder == filepath.Dir(p.path))
}

// isUpdate reports whether the bytes that wait may be approved by their interface.
func (p *plan) isUpdate() bool {
	return p.pending != "" && p.config.Updates == UpdatesSame && p.file != nil && p.file.module != nil && p.sameFile()
}
