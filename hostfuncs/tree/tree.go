package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// Op is what is to be done with a path.
type Op uint8

// The operations a Decider is asked about.
const (
	Read  Op = iota // look at it and read it
	Write           // make, change, move or remove it
	Make            // make a folder where nothing is: a Write that less allows
	List            // look at the names in a folder: a Read of what it holds
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

// Changes reports whether something is another when it is done.
func (o Op) Changes() bool { return o == Write || o == Make }

// Decider says what a call may do. Paths are absolute host paths without links, also where the path of a
// mount has some: what is decided about is the place that is reached. The Tree asks from one goroutine.
type Decider interface {
	// Allow returns nil if the operation is granted, and otherwise why not. It records a refusal:
	// it is only asked about what a guest wants to do.
	Allow(op Op, hostPath string) error
}

// Viewer is what a Decider may implement too, and should: it tells what a guest may see without
// recording anything. Without it Allow(Read) answers, and folders on the way to a granted path that
// are not granted themselves are passed only for a path that is.
type Viewer interface {
	// Visible says whether the path is granted for reading or writing, or, if folder is set,
	// something below it may be.
	Visible(hostPath string, folder bool) bool
	// Writable says whether the path is granted for writing.
	Writable(hostPath string) bool
}

// Leader is what a Decider may implement too: it tells where no link of a guest may be, whatever it leads to, since names below
// it would be decided about by the names that the link leads to.
type Leader interface {
	// Leads says whether names below the path have to be spelled out.
	Leads(hostPath string) bool
}

// Mount is a part of the host's files that grants can reach: the literal prefix of a grant.
type Mount struct {
	Host  string // absolute host path of a folder or a file, which need not exist; empty is a folder that stays empty
	Guest string // where the guest sees it, absolute with slashes; empty is GuestPath(Host)
}

// Tree is the files of one call. It serves one goroutine at a time.
type Tree struct {
	mounts  []*mount // those with the longest guest path first
	retired []*mount // that later ones made needless
	decider Decider
	viewer  Viewer               // nil if the decider is none
	empty   []string             // guest paths of folders that the host does not have
	folders map[*folder]struct{} // open ones, whose paths follow renames
}

var _ wasi.Tree = (*Tree)(nil)

// New returns a tree of those mounts. A mount that is not absolute, or lies inside another one under
// the same name, adds nothing and is left out; of two with one guest path the first holds.
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

// Add shows one more part of the host's files, by the rules of New.
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

// redundant says whether another mount shows the same files under the same names. Keeping it would
// let a guest replace its folder by a link that nobody decides about.
func (t *Tree) redundant(m *mount) bool {
	for _, o := range t.mounts {
		if rest, ok := o.toGuest(m.host); o != m && ok && rest == m.guest {
			return true
		}
	}
	return false
}

// Close closes what the tree holds open; files that were opened through it stay open.
func (t *Tree) Close() {
	for _, m := range slices.Concat(t.mounts, t.retired) {
		m.close()
	}
}

// visible asks without leaving a record, if it can.
func (t *Tree) visible(host string, folder bool) bool {
	if t.viewer != nil {
		return t.viewer.Visible(host, folder)
	}
	return t.decider.Allow(Read, host) == nil
}

// writable asks without leaving a record, if it can.
func (t *Tree) writable(host string) bool {
	if t.viewer != nil {
		return t.viewer.Writable(host)
	}
	return t.decider.Allow(Write, host) == nil
}

// allow decides about an effect on a path that the guest may see or not.
func (t *Tree) allow(op Op, host string, folder bool) wasi.Errno {
	switch {
	case t.decider.Allow(op, host) == nil:
		return wasi.ESUCCESS
	case t.visible(host, folder):
		return wasi.EACCES
	}
	return wasi.ENOENT
}

// refuse has the refusal of a path recorded; what is not granted does not exist.
func (t *Tree) refuse(op Op, host string) wasi.Errno {
	_ = t.decider.Allow(op, host)
	return wasi.ENOENT
}

// busy says whether a mount is at or below a place, by its own name or by the one without links:
// who makes, moves or removes something there would change what the mount means.
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

// cutPrefix returns what follows the folder prefix in a cleaned path, in the system's separators.
func cutPrefix(path, prefix string) (string, bool) {
	if path == prefix {
		return "", true
	}
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok || strings.HasSuffix(prefix, string(os.PathSeparator)) {
		return rest, ok
	}
	if rest, ok = strings.CutPrefix(rest, string(os.PathSeparator)); !ok {
		return path, false // a neighbour whose name begins in the same way
	}
	return rest, true
}
