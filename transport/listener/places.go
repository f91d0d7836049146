package listener

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Places are the connections that a server has room for. A connection begins as a stranger's and becomes a caller's when
// it brings a request that may be served (Known). An eighth of the places is for strangers: a newcomer always has
// one, and closes the oldest of the address that has most. The rest is for callers: where all is taken, one that
// rests is closed for a newcomer, of the caller who has most.
type Places struct {
	strangers, callers int

	// Full is called when a connection is closed, or refused, for want of room; nil is for nobody. It must not block.
	Full func(what string)

	mu    sync.Mutex
	new   list.List // of *Conn: strangers, the oldest first
	known map[*Conn]bool
}

// NewPlaces returns places for n connections, two at least.
func NewPlaces(n int) *Places {
	n = max(n, 2)
	strangers := max(n/8, min(8, n/2))
	return &Places{strangers: strangers, callers: n - strangers, known: map[*Conn]bool{}}
}

// Listen gives each connection of ln a place.
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
	from   string // address

	// guarded by Places.mu
	place  *list.Element // among the strangers; nil for a caller's
	caller string
	busy   bool
	rested time.Time // since when it is not busy
}

// Of returns the place of a connection that a server has, below TLS too; nil if it has none.
func Of(c net.Conn) *Conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	placed, _ := c.(*Conn)
	return placed
}

// Close makes room for another connection.
func (c *Conn) Close() error {
	c.places.mu.Lock()
	c.places.remove(c)
	c.places.mu.Unlock()
	return c.Conn.Close()
}

// User is the user at the other end of a connection that a listener of Unix accepted; false for others.
func (c *Conn) User() (uid string, ok bool) {
	p, ok := c.Conn.(*peerConn)
	if !ok {
		return "", false
	}
	return p.uid, true
}

// Busy notes whether a request of the connection is being served.
func (c *Conn) Busy(busy bool) {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	c.busy, c.rested = busy, time.Now()
}

// Known makes the connection a caller's. It is false if there is no room: then it has to be closed.
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

// IsKnown reports whether it is a caller's.
func (c *Conn) IsKnown() bool {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	return c.place == nil
}

func (p *Places) full(what string) {
	if p.Full != nil {
		p.Full(what)
	}
}

// stranger gives a connection its place.
func (p *Places) stranger(c net.Conn) *Conn {
	s := &Conn{Conn: c, places: p, from: addressOf(c), rested: time.Now()}
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

// oldest is the stranger that gives way: the first to come of the address that has most. Locked by the caller, as below.
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

// resting is the connection that gives way to one more of a caller: of those of the caller who has most among those that
// rest, the one that does for longest; nil if none rests, but of others who have no more than that caller.
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

// addressOf is where a connection comes from, without its port.
func addressOf(c net.Conn) string {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return c.RemoteAddr().String()
	}
	return Source(host)
}

// Source is what one host has to itself: an IPv4 address, or the /64 of an IPv6 address.
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
