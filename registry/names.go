package registry

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/registry/document"
	"github.com/sallyport-mcp/sallyport/registry/script"
)

// hold holds back plugins with the same name, compared without case: all but the one that was approved under it. A file
// with a name that had to be normalized does not compete for the name of a different file.
func (pl *planner) hold(plans []*plan) {
	byName := map[string][]*plan{}
	for _, p := range plans {
		absent := p.path != "" && p.file == nil && !pl.approvals.covers(p.name, p.path)
		if p.err == nil && p.held == nil && !p.config.Disabled && !absent {
			byName[fold(p.name)] = append(byName[fold(p.name)], p)
		}
	}
	for _, same := range byName {
		pl.holdSame(same)
	}
}

// holdSame holds back all but one of the plans with one name.
func (pl *planner) holdSame(same []*plan) {
	approved := pl.approvals.of(same)
	exact := slices.DeleteFunc(slices.Clone(same), func(p *plan) bool { return !pl.exact(p) })
	for _, p := range same {
		switch {
		case p == approved:
		case approved != nil:
			p.rival = true
			p.held = fmt.Errorf("%s was approved as the plugin %s, and serves; %s shows the changes of %s",
				approved.where(), approved.name, pl.approvals.command(approved.name), p.where())
		case !pl.exact(p) && (len(exact) > 0 || pl.keyOf(p) != ""):
			p.held = fmt.Errorf("the plugin %s is the file %s%s: rename %s, or give it its own key and source in sallyport.yaml",
				p.name, p.name, filepath.Ext(p.path), p.where())
		case pl.exact(p) && len(exact) > 1, len(exact) == 0 && len(same) > 1:
			p.held = fmt.Errorf("more than one plugin is named %q: %s; rename one, or give each its own key and source in sallyport.yaml", p.name, files(same))
		}
		if p.held == nil {
			pl.holdOtherCase(p)
		}
	}
}

// holdOtherCase holds a plan whose name is pinned, or is a key of the settings, in a different case: it is the same
// name, and only some file systems tell the files apart.
func (pl *planner) holdOtherCase(p *plan) {
	var other, why string
	if l := pl.approvals.lock; l != nil {
		if _, pinned := l.Pin(p.name); pinned {
			return
		}
		if other = l.OtherCase(p.name); other != "" {
			why = fmt.Sprintf("%s is pinned: rename %s to %s%s, or take %q out of %s", other, p.where(), other, filepath.Ext(p.path), other, l.Place())
		}
	}
	if _, own := pl.configs[p.name]; !own && other == "" {
		if other = pl.keyOf(p); other != "" {
			why = fmt.Sprintf("%s is a key of sallyport.yaml: rename %s to %s%s, or the key", other, p.where(), other, filepath.Ext(p.path))
		}
	}
	if why != "" {
		p.rival, p.held = true, fmt.Errorf("names that differ only in case are one name, and %s", why)
	}
}

// exact reports whether a plan's file is the one that its name refers to.
func (pl *planner) exact(p *plan) bool {
	base := filepath.Base(p.path)
	return p.path == "" || pl.given != nil || document.Is(p.path) || base == p.name+".wasm" || base == p.name+".json" ||
		script.Is(p.path) && base == p.name+filepath.Ext(base) ||
		pl.folders.source(pl.configs[p.name]) == p.path
}

// keyOf returns the key of the settings that names the plugin of a plan, ignoring case; "" is none.
func (pl *planner) keyOf(p *plan) string {
	for name := range pl.configs {
		if fold(name) == fold(p.name) {
			return name
		}
	}
	return ""
}
