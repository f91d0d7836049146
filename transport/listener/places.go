package listener

import (
	"container/list"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Places limits the connections of a server. A connection begins as a stranger's (unauthenticated), and becomes a
// caller's with its first permitted request (Known). An eighth of the places is for strangers: a new one is always
// accepted, and replaces the oldest of the address with the most. The rest is for callers: if all are taken, a new
// one replaces an idle connection of the caller with the most.
type Places struct {
	strangers, callers int

	// Full is called when a connection is closed or refused for lack of room. It may be nil, and must not block.
	Full func(what string)

	mu    sync.Mutex
	new   list.List // of *Conn: strangers, oldest first
	known map[*Conn]bool
}

// NewPlaces returns places for n connections, at least two.
func NewPlaces(n int) *Places {
	n = max(n, 2)
	strangers := max(n/8, min(8, n/2))
	return &Places{strangers: strangers, callers: n - strangers, known: map[*Conn]bool{}}
}

// Listen wraps ln so that each accepted connection has a place.
func (p *Places) Listen(ln net.Listener) net.Listener { return &placesListener{ln, p} }

type placesListener struct {
	net.Listener
	places *Places
}

// Accept waits for a connection.
func (l *placesListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.places.stranger(c), nil
}

// Conn is a connection with a place.
type Conn struct {
	net.Conn
	places *Places
	from   string // remote address

	in            io.Reader
	out           io.Writer
	reads, writes deadline

	// guarded by Places.mu
	place  *list.Element // in the list of strangers; nil for a caller's connection
	caller string
	busy   bool
	rested time.Time // start of its idle time
}

// Of returns the Conn of a server's connection, also below TLS. It is nil if there is none.
func Of(c net.Conn) *Conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	placed, _ := c.(*Conn)
	return placed
}

// Close closes the connection and frees its place.
func (c *Conn) Close() error {
	c.places.mu.Lock()
	c.places.remove(c)
	c.places.mu.Unlock()
	return c.Conn.Close()
}

// User returns the user of the peer of a connection that a listener of Unix accepted. ok is false for others.
func (c *Conn) User() (uid string, ok bool) {
	p, ok := c.Conn.(*peerConn)
	if !ok {
		return "", false
	}
	return p.uid, true
}

// Busy records whether a request of the connection is in progress.
func (c *Conn) Busy(busy bool) {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	c.busy, c.rested = busy, time.Now()
}

// Known assigns the connection to a caller. It returns false if there is no room: then it must be closed.
func (c *Conn) Known(caller string) bool {
	p := c.places
	p.mu.Lock()
	if c.place == nil && c.caller == caller && p.known[c] {
		p.mu.Unlock()
		return true
	}
	var rests *Conn
	fits := c.place == nil || len(p.known) < p.callers
	if !fits {
		if rests = p.resting(caller); rests != nil {
			p.remove(rests)
			fits = true
		}
	}
	if fits {
		p.remove(c)
		p.known[c], c.caller = true, caller
	}
	p.mu.Unlock()
	if rests != nil {
		rests.Conn.Close()
	}
	if rests != nil || !fits {
		p.full("the places of callers' connections are all taken")
	}
	return fits
}

func (p *Places) full(what string) {
	if p.Full != nil {
		p.Full(what)
	}
}

// stranger assigns a new connection a place.
func (p *Places) stranger(c net.Conn) *Conn {
	s := &Conn{Conn: c, places: p, from: addressOf(c), rested: time.Now()}
	s.in, s.out = direct(c)
	s.reads.arm, s.writes.arm = c.SetReadDeadline, c.SetWriteDeadline
	p.mu.Lock()
	var gone *Conn
	if p.new.Len() >= p.strangers {
		gone = p.oldest()
		p.remove(gone)
	}
	s.place = p.new.PushBack(s)
	p.mu.Unlock()
	if gone != nil {
		gone.Conn.Close()
		p.full("the places of connections that have brought no token are all taken, most by " + gone.from)
	}
	return s
}

// oldest returns the stranger to be replaced: the oldest connection of the address with the most. p.mu is held, as
// below.
func (p *Places) oldest() (found *Conn) {
	of := map[string]int{}
	for e := p.new.Front(); e != nil; e = e.Next() {
		of[e.Value.(*Conn).from]++
	}
	for e := p.new.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*Conn); found == nil || of[c.from] > of[found.from] {
			found = c
		}
	}
	return found
}

// resting returns the connection to be replaced for one more of a caller: the longest idle one of the caller with the
// most, among callers with idle connections. It is nil if there is none, or if all such callers are others with no
// more than this caller has.
func (p *Places) resting(caller string) (found *Conn) {
	of := map[string]int{}
	for c := range p.known {
		of[c.caller]++
	}
	for c := range p.known {
		if c.busy || c.caller != caller && of[c.caller] <= of[caller] {
			continue
		}
		if found == nil || of[c.caller] > of[found.caller] || of[c.caller] == of[found.caller] && c.rested.Before(found.rested) {
			found = c
		}
	}
	return found
}

func (p *Places) remove(c *Conn) {
	if c.place != nil {
		p.new.Remove(c.place)
		c.place = nil
	}
	delete(p.known, c)
}

// addressOf returns the remote address of a connection, without its port.
func addressOf(c net.Conn) string {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return c.RemoteAddr().String()
	}
	return Source(host)
}

// Source returns the part of an address that identifies one host: an IPv4 address, or the /64 of an IPv6 address.
func Source(host string) string {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}
