package jail

import (
	"path/filepath"
	"slices"
)

// Mount is a part of the host's file system that grants can reach: the literal prefix of a grant.
type Mount struct {
	Host  string // absolute host path of a folder or a file, which need not exist; empty is a folder that stays empty
	Guest string // guest path, absolute with slashes; empty is GuestPath(Host)
}

// mountTable holds the mounts of a call.
type mountTable struct {
	all     []*mount // ordered by guest path, the longest first
	retired []*mount // made redundant by later mounts
	empty   []string // guest paths of folders that do not exist on the host
}

func newMountTable(mounts []Mount) *mountTable {
	t := &mountTable{}
	for _, m := range mounts {
		t.addOne(m)
	}
	t.dropRedundant()
	t.sort()
	return t
}

// add adds a mount to a table in use.
func (t *mountTable) add(m Mount) {
	before := t.all
	t.addOne(m)
	t.dropRedundant()
	for _, old := range before {
		if !slices.Contains(t.all, old) {
			t.retired = append(t.retired, old)
		}
	}
	t.sort()
}

func (t *mountTable) sort() {
	slices.SortStableFunc(t.all, func(a, b *mount) int { return len(b.guest) - len(a.guest) })
}

func (t *mountTable) addOne(m Mount) {
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
	if t.at(guest) == nil {
		t.all = append(t.all, &mount{host: host, guest: guest})
	}
}

func (t *mountTable) dropRedundant() {
	var kept []*mount
	for _, m := range t.all {
		if !t.redundant(m) {
			kept = append(kept, m)
		}
	}
	t.all = kept
}

// redundant reports whether another mount shows the same files under the same names. If it were kept, a guest could
// replace its folder by a link that is never decided on.
func (t *mountTable) redundant(m *mount) bool {
	for _, o := range t.all {
		if rest, ok := o.toGuest(m.host); o != m && ok && rest == m.guest {
			return true
		}
	}
	return false
}

func (t *mountTable) close() {
	for _, m := range slices.Concat(t.all, t.retired) {
		m.close()
	}
}

// at returns the mount at a guest path; nil if there is none.
func (t *mountTable) at(guest string) *mount {
	for _, m := range t.all {
		if m.guest == guest {
			return m
		}
	}
	return nil
}

// covering returns the mount with the longest guest path that covers a guest path, and the rest of the path below it.
func (t *mountTable) covering(guest string) (m *mount, rest string) {
	for _, m := range t.all { // the longest guest path first
		if rest, ok := under(guest, m.guest); ok {
			return m, rest
		}
	}
	return nil, ""
}

// leads reports whether a mount is below the guest path, or an empty folder at or below it.
func (t *mountTable) leads(guest string) bool {
	for _, e := range t.empty {
		if _, ok := under(e, guest); ok {
			return true
		}
	}
	for _, m := range t.all {
		if rest, ok := under(m.guest, guest); ok && rest != "" {
			return true
		}
	}
	return false
}

// toGuest returns the guest path of a host path. The longest mount that covers it applies.
func (t *mountTable) toGuest(host string) (string, bool) {
	best, found, length := "", false, -1
	for _, m := range t.all {
		_ = m.open() // resolves its real path
		if guest, ok := m.toGuest(host); ok && len(m.host) > length {
			best, found, length = guest, true, len(m.host)
		}
	}
	return best, found
}

// busy reports whether a mount is at or below a place, by its own name or by the one without links. Creating, moving
// or removing an object there would change the meaning of the mount.
func (t *mountTable) busy(p *place) bool {
	if p.parent().root == nil {
		return false
	}
	for _, m := range t.all {
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
