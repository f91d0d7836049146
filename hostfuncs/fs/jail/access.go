package jail

import (
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

// access asks the Decider of a call.
type access struct {
	decider Decider
	viewer  Viewer // nil if the decider does not implement it
	leader  Leader // nil if the decider does not implement it
}

func newAccess(d Decider) *access {
	a := &access{decider: d}
	a.viewer, _ = d.(Viewer)
	a.leader, _ = d.(Leader)
	return a
}

// visible asks the viewer without recording or, if there is none, the decider.
func (a *access) visible(host string, folder bool) bool {
	if a.viewer != nil {
		return a.viewer.Visible(host, folder)
	}
	return a.decider.Allow(Read, host) == nil
}

// writable asks the viewer without recording or, if there is none, the decider.
func (a *access) writable(host string) bool {
	if a.viewer != nil {
		return a.viewer.Writable(host)
	}
	return a.decider.Allow(Write, host) == nil
}

// allow decides on an effect on a path: EACCES if it is denied but visible, ENOENT if it is not visible.
func (a *access) allow(op Op, host string, folder bool) wasi.Errno {
	switch {
	case a.decider.Allow(op, host) == nil:
		return wasi.ESUCCESS
	case a.visible(host, folder):
		return wasi.EACCES
	}
	return wasi.ENOENT
}

// refuse records the denial of a path and returns ENOENT, since a path that is not granted does not exist.
func (a *access) refuse(op Op, host string) wasi.Errno {
	_ = a.decider.Allow(op, host)
	return wasi.ENOENT
}

// see decides whether the guest may see the object at a place, and records a denial.
func (a *access) see(p *place, op Op) wasi.Errno {
	switch {
	case p.name == "":
		return wasi.ESUCCESS // the walk passed through it
	case !a.visible(p.host, p.isDir()):
		return a.refuse(op, p.host)
	case p.info == nil:
		return wasi.ENOENT
	}
	return wasi.ESUCCESS
}

// leads reports whether names below the path must be literal.
func (a *access) leads(host string) bool { return a.leader != nil && a.leader.Leads(host) }
