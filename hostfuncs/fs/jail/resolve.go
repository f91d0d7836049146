package jail

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// resolver resolves guest paths to places.
type resolver struct {
	mounts *mountTable
	access *access
}

// walk resolves a path. The caller closes the place. Whether the guest may see the object there is decided by see.
func (r *resolver) walk(guest string, follow bool, op Op) (*place, wasi.Errno) {
	return again(func() (*place, wasi.Errno) { return r.walkOnce(guest, follow, op) })
}

// walkOnce is walk without repetition after a race.
func (r *resolver) walkOnce(guest string, follow bool, op Op) (*place, wasi.Errno) {
	return r.walkAs(&walker{r: r, op: op, follow: follow}, guest)
}

// walkAs resolves a path with a prepared walker.
func (r *resolver) walkAs(w *walker, guest string) (*place, wasi.Errno) {
	w.todo, w.mustDir = split(guest)
	e := w.run()
	if e == wasi.ESUCCESS && w.mustDir && w.at.info != nil && !w.at.isDir() {
		e = wasi.ENOTDIR
		if !r.access.visible(w.at.host, false) {
			e = w.refuse(w.at.host)
		}
	}
	if e != wasi.ESUCCESS {
		w.at.close()
		return nil, e
	}
	w.at.mustDir = w.mustDir
	return &w.at, wasi.ESUCCESS
}

// look resolves a path, and describes the place for packages that keep changes apart.
func (r *resolver) look(guest string, follow bool, op Op, quiet bool) (Spot, wasi.Errno) {
	p, e := again(func() (*place, wasi.Errno) {
		return r.walkAs(&walker{r: r, op: op, follow: follow, quiet: quiet}, guest)
	})
	if e != wasi.ESUCCESS {
		return Spot{}, e
	}
	defer p.close()
	s := Spot{Guest: p.guest, Host: p.host, Info: p.info, Dir: p.isDir(), Slash: p.mustDir}
	if p.parent().root == nil {
		s.Fixed = true
		return s, wasi.ESUCCESS
	}
	s.Real = p.host
	s.Fixed = p.name == "" && p.parent().mount.guest == p.guest || r.mounts.busy(p)
	return s, wasi.ESUCCESS
}

// mountEntries lists the mounts, and the folders on the way to mounts, directly below a guest path.
func (r *resolver) mountEntries(guest string) []wasi.DirEntry {
	var out []wasi.DirEntry
	seen := make(map[string]bool)
	for _, m := range r.mounts.all {
		rest, ok := under(m.guest, guest)
		name, deeper, onTheWay := strings.Cut(rest, "/")
		if !ok || name == "" || seen[name] {
			continue
		}
		entry := wasi.DirEntry{Name: name, Type: wasi.TypeDirectory}
		if !onTheWay && deeper == "" {
			st, err := os.Stat(m.host)
			if err != nil || !r.showsMount(m, st.IsDir()) {
				continue
			}
			entry.Type = wasi.FiletypeOf(st.Mode())
		}
		seen[name] = true
		out = append(out, entry)
	}
	for _, e := range r.mounts.empty {
		rest, ok := under(e, guest)
		if name, _, _ := strings.Cut(rest, "/"); ok && name != "" && !seen[name] {
			seen[name] = true
			out = append(out, wasi.DirEntry{Name: name, Type: wasi.TypeDirectory})
		}
	}
	return out
}

// showsMount reports whether the guest may see the target of a mount.
func (r *resolver) showsMount(m *mount, folder bool) bool {
	real, err := filepath.EvalSymlinks(m.host)
	return err == nil && (real == m.host || r.access.visible(real, folder))
}

// targetForGuest maps the target of a link to the path that the tree shows for it. Relative targets are unchanged.
func (r *resolver) targetForGuest(target string) string {
	if !filepath.IsAbs(target) {
		return filepath.ToSlash(target)
	}
	if guest, ok := r.mounts.toGuest(filepath.Clean(target)); ok {
		return guest
	}
	return GuestPath(target)
}
