package listener

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// socketPath returns a short path for a socket: systems limit its length.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// accepted connects to a listener and returns the accepted connection.
func accepted(t *testing.T, ln net.Listener) net.Conn {
	t.Helper()
	there, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	here, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	return here
}

func TestUnix_replacesAStaleSocketAndReportsTheUser(t *testing.T) {
	path := socketPath(t)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close() // as after a crash

	ln, err := Unix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got socket %+v, %v; want mode 0600", info, err)
	}
	if _, err := Unix(path); err == nil || err.Error() != path+" is in use by another process" {
		t.Errorf("got %v, want %q", err, path+" is in use by another process")
	}
	uid, ok := Of(accepted(t, NewPlaces(2).Listen(ln))).User()
	if want := strconv.Itoa(os.Geteuid()); !ok || runtime.GOOS != "windows" && uid != want {
		t.Errorf("user %q, %v, want %q", uid, ok, want)
	}
}

func TestUnix_keepsAFileInItsPlace(t *testing.T) {
	path := socketPath(t)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unix(path); err == nil || err.Error() != path+" is there and is not a socket" {
		t.Errorf("got %v, want %q", err, path+" is there and is not a socket")
	}
	if data, _ := os.ReadFile(path); string(data) != "precious" {
		t.Errorf("got file %q, want \"precious\"", data)
	}
}

// An eighth of the places is for strangers, and about half of few.
func TestNewPlaces_reservesAnEighthForStrangers(t *testing.T) {
	for n, want := range map[int][2]int{0: {1, 1}, 2: {1, 1}, 10: {5, 5}, 64: {8, 56}, 1024: {128, 896}} {
		if p := NewPlaces(n); p.strangers != want[0] || p.callers != want[1] {
			t.Errorf("%d: got %d and %d places, want %v", n, p.strangers, p.callers, want)
		}
	}
}

// host is one end of a connection from an address.
type host struct {
	net.Conn
	from   string
	closed bool
}

func (h *host) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(h.from), Port: 1} }
func (h *host) Close() error         { h.closed = true; return nil }

// crowd makes connections to places.
type crowd struct {
	t      *testing.T
	places *Places
	said   []string
	now    int
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, places: NewPlaces(0)}
	c.places.strangers, c.places.callers = 4, 12
	c.places.Full = func(what string) { c.said = append(c.said, what) }
	return c
}

// come accepts n connections from an address.
func (c *crowd) come(from string, n int) (all []*Conn) {
	for range n {
		all = append(all, c.places.stranger(&host{from: from}))
	}
	return all
}

// known assigns connections to a caller. They then become idle, each a little later than the one before.
func (c *crowd) known(caller string, all []*Conn) {
	c.t.Helper()
	for _, x := range all {
		if !x.Known(caller) {
			c.t.Fatalf("Known(%q) = false, want room", caller)
		}
		c.now++
		x.rested = time.Unix(int64(c.now), 0)
	}
}

func open(all []*Conn) (n int) {
	for _, x := range all {
		if !x.Conn.(*host).closed {
			n++
		}
	}
	return n
}

// A new connection always has a place: it replaces the oldest stranger of the address with the most, and no caller's
// connection.
func TestPlaces_replaceTheOldestStrangerOfTheLargestAddress(t *testing.T) {
	c := newCrowd(t)
	callers := c.come("192.0.2.1", 3)
	c.known("token:a", callers)
	other := c.come("192.0.2.2", 1)
	idle := c.come("2001:db8::1", 100)
	same := c.come("2001:db8::2", 100) // of the same /64
	if open(callers) != 3 || open(other) != 1 || open(idle) != 0 || open(same) != 3 || open(same[97:]) != 3 {
		t.Errorf("got %d callers, %d of another address, %d and %d idle (%d of the last 3); want 3, 1, 0 and 3 (3)", open(callers), open(other), open(idle), open(same), open(same[97:]))
	}
	if len(c.said) == 0 || c.said[0] != "the places of connections that have brought no token are all taken, most by 2001:db8::/64" {
		t.Errorf("got %q, want the places of strangers and the network with the most", c.said)
	}
	if same[99].Close(); c.places.new.Len() != 3 {
		t.Errorf("got %d strangers, want 3", c.places.new.Len())
	}
}

// If the callers' places are taken, a new connection replaces an idle one of the caller with the most, for a caller
// with fewer.
func TestPlaces_replaceAnIdleConnectionOfTheLargestCaller(t *testing.T) {
	c := newCrowd(t)
	var many, few []*Conn
	for range 10 {
		many = append(many, c.come("192.0.2.1", 1)...)
		c.known("token:many", many[len(many)-1:])
	}
	few = c.come("192.0.2.1", 2)
	c.known("token:few", few)
	many[0].Busy(true)
	few = append(few, c.come("192.0.2.1", 1)...)
	c.known("token:few", few[2:])
	if many[1].Conn.(*host).closed == false || open(many) != 9 || open(few) != 3 {
		t.Errorf("got %d and %d open, want 9 and 3", open(many), open(few))
	}
	more := c.come("192.0.2.1", 1)
	c.known("token:many", more) // in place of the caller's own
	if open(many) != 8 || open(few) != 3 {
		t.Errorf("got %d and %d open, want 8 and 3", open(many), open(few))
	}
	for _, x := range slices.Concat(many, more, few) {
		x.Busy(true)
	}
	if x := c.come("192.0.2.1", 1)[0]; x.Known("token:few") {
		t.Error("Known(\"token:few\") with every connection busy = true, want false")
	} else if x.place == nil {
		t.Error("a connection without a place counts as known")
	}
	if few[0].Known("token:many"); few[0].caller != "token:many" || len(c.places.known) != 12 {
		t.Errorf("got caller %s of %d known, want token:many of 12", few[0].caller, len(c.places.known))
	}
	for _, x := range slices.Concat(many, more, few) {
		x.Close()
	}
	if len(c.places.known) != 0 {
		t.Errorf("got %d known connections, want 0", len(c.places.known))
	}
}
