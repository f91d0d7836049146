package jail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Op is an operation on a path.
type Op uint8

// Operations that a Decider is asked about.
const (
	Read  Op = iota // examine and read the object
	Write           // create, change, move or remove the object
	Make            // create a folder at a vacant path: a Write that needs a weaker grant
	List            // list the names in a folder: a Read of its entries
)

// String returns "read", "write" or "list".
func (o Op) String() string {
	switch o {
	case Read:
		return "read"
	case List:
		return "list"
	}
	return "write"
}

// Changes reports whether the operation changes the file system.
func (o Op) Changes() bool { return o == Write || o == Make }

// Decider grants or denies the operations of a call. Paths are absolute host paths without links, even if the path of
// a mount contains some: the decision is on the place that is reached. Methods are called from one goroutine.
type Decider interface {
	// Allow returns nil if the operation is granted, and otherwise the reason for the denial. It records a denial: it
	// is called only for operations that the guest requested.
	Allow(op Op, hostPath string) error
}

// Viewer is an optional interface of a Decider, and recommended: it answers questions of visibility without recording.
// Without it Allow(Read) is called, and folders on the way to a granted path that are not granted themselves are
// passed only for such a path.
type Viewer interface {
	// Visible reports whether the path is granted for reading or writing or, if folder is set, a path below it may be.
	Visible(hostPath string, folder bool) bool
	// Writable reports whether the path is granted for writing.
	Writable(hostPath string) bool
}

// Leader is an optional interface of a Decider. It names the paths at which a guest must not create a link, because
// names below such a path would be decided on by their names behind the link.
type Leader interface {
	// Leads reports whether names below the path must be literal.
	Leads(hostPath string) bool
}

// Mount is a part of the host's file system that grants can reach: the literal prefix of a grant.
type Mount struct {
	Host  string // absolute host path of a folder or a file, which need not exist; empty is a folder that stays empty
	Guest string // guest path, absolute with slashes; empty is GuestPath(Host)
}

// Tree is the file system of one call. It serves one goroutine at a time.
type Tree struct {
	mounts  []*mount // ordered by guest path, the longest first
	retired []*mount // made redundant by later mounts
	decider Decider
	viewer  Viewer               // nil if the decider does not implement it
	empty   []string             // guest paths of folders that do not exist on the host
	folders map[*folder]struct{} // open ones; renames update their paths
}

var _ wasi.Tree = (*Tree)(nil)

// New returns a tree of those mounts. A mount that is not absolute, or that is inside another one under the same name,
// is ignored. Of two mounts with one guest path the first is used.
func New(mounts []Mount, d Decider) *Tree {
	t := &Tree{decider: d, folders: make(map[*folder]struct{})}
	t.viewer, _ = d.(Viewer)
	for _, m := range mounts {
		t.addMount(m)
	}
	t.dropRedundant()
	t.sortMounts()
	return t
}

// Add adds a mount by the rules of New.
func (t *Tree) Add(m Mount) {
	before := t.mounts
	t.addMount(m)
	t.dropRedundant()
	for _, old := range before {
		if !slices.Contains(t.mounts, old) {
			t.retired = append(t.retired, old)
		}
	}
	t.sortMounts()
}

func (t *Tree) sortMounts() {
	slices.SortStableFunc(t.mounts, func(a, b *mount) int { return len(b.guest) - len(a.guest) })
}

func (t *Tree) addMount(m Mount) {
	if m.Host == "" && m.Guest != "" {
		t.empty = append(t.empty, cleanGuest(m.Guest))
	}
	if !filepath.IsAbs(m.Host) {
		return
	}
	host := filepath.Clean(m.Host)
	guest := GuestPath(host)
	if m.Guest != "" {
		guest = cleanGuest(m.Guest)
	}
	if t.mountAt(guest) == nil {
		t.mounts = append(t.mounts, &mount{host: host, guest: guest})
	}
}

func (t *Tree) dropRedundant() {
	var kept []*mount
	for _, m := range t.mounts {
		if !t.redundant(m) {
			kept = append(kept, m)
		}
	}
	t.mounts = kept
}

// redundant reports whether another mount shows the same files under the same names. If it were kept, a guest could
// replace its folder by a link that is never decided on.
func (t *Tree) redundant(m *mount) bool {
	for _, o := range t.mounts {
		if rest, ok := o.toGuest(m.host); o != m && ok && rest == m.guest {
			return true
		}
	}
	return false
}

// Close closes the folders that the tree holds open. Files that were opened through it stay open.
func (t *Tree) Close() {
	for _, m := range slices.Concat(t.mounts, t.retired) {
		m.close()
	}
}

// visible asks the viewer without recording or, if there is none, the decider.
func (t *Tree) visible(host string, folder bool) bool {
	if t.viewer != nil {
		return t.viewer.Visible(host, folder)
	}
	return t.decider.Allow(Read, host) == nil
}

// writable asks the viewer without recording or, if there is none, the decider.
func (t *Tree) writable(host string) bool {
	if t.viewer != nil {
		return t.viewer.Writable(host)
	}
	return t.decider.Allow(Write, host) == nil
}

// allow decides on an effect on a path: EACCES if it is denied but visible, ENOENT if it is not visible.
func (t *Tree) allow(op Op, host string, folder bool) wasi.Errno {
	switch {
	case t.decider.Allow(op, host) == nil:
		return wasi.ESUCCESS
	case t.visible(host, folder):
		return wasi.EACCES
	}
	return wasi.ENOENT
}

// refuse records the denial of a path and returns ENOENT, since a path that is not granted does not exist.
func (t *Tree) refuse(op Op, host string) wasi.Errno {
	_ = t.decider.Allow(op, host)
	return wasi.ENOENT
}

// busy reports whether a mount is at or below a place, by its own name or by the one without links. Creating, moving
// or removing an object there would change the meaning of the mount.
func (t *Tree) busy(p *place) bool {
	if p.parent().root == nil {
		return false
	}
	for _, m := range t.mounts {
		if p.anchored() && m == p.parent().mount {
			continue
		}
		_, host := cutPrefix(m.host, p.host)
		_, site := cutPrefix(m.site(), p.host)
		_, guest := under(m.guest, p.guest)
		if host || site || guest {
			return true
		}
	}
	return false
}

// cutPrefix returns the rest of a cleaned path below the folder prefix, with the system's separators.
func cutPrefix(path, prefix string) (string, bool) {
	if path == prefix {
		return "", true
	}
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok || strings.HasSuffix(prefix, string(os.PathSeparator)) {
		return rest, ok
	}
	if rest, ok = strings.CutPrefix(rest, string(os.PathSeparator)); !ok {
		return path, false // a sibling with the same prefix
	}
	return rest, true
}
