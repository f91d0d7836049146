package listener

import (
	"errors"
	"os"
	"sync"
	"time"
)

// deadline is one direction's deadline of a connection. An HTTP server sets several for each request, of which nearly
// none passes, and each would set a timer and may wake a thread. So the deadline of the connection below is only moved
// when an earlier one is set, and when it passes: then the operation that failed is tried again until the right time.
//
// At the end of each request an HTTP server also interrupts a read, by a deadline long past, and sets those of the next
// request: 2 minutes until its first byte, 10 seconds for its headers, 30 for its body. So the deadline after a past one
// is an early one, and then moved only if the connection is idle.
type deadline struct {
	arm func(time.Time) error // sets the deadline of the connection below

	mu    sync.Mutex
	set   time.Time // zero means none
	armed time.Time // in the connection below, never after set; zero means none
}

// move sets the deadline.
func (d *deadline) move(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.set = t
	if t.IsZero() || !d.armed.IsZero() && !d.armed.After(t) {
		return nil
	}
	d.armed = t
	return d.arm(t)
}

const (
	// afterInterrupt is less than the deadlines that an HTTP server sets for a request.
	afterInterrupt = 5 * time.Second
	// long tells the past deadline of an interrupt from one that has just passed.
	long = time.Hour
)

// early reports whether err is that of the connection below for a deadline that has not passed, and arms that one.
func (d *deadline) early(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.set.IsZero() && !time.Now().Before(d.set) {
		return false
	}
	next := d.set
	if soon := time.Now().Add(afterInterrupt); soon.Sub(d.armed) > long && (next.IsZero() || next.After(soon)) {
		next = soon
	}
	d.armed = next
	return d.arm(next) == nil
}

// Read reads until the read deadline.
func (c *Conn) Read(p []byte) (n int, err error) {
	for {
		if n, err = c.in.Read(p); err == nil || n > 0 || !c.reads.early(err) {
			return n, err
		}
	}
}

// Write writes until the write deadline.
func (c *Conn) Write(p []byte) (n int, err error) {
	for {
		more, err := c.out.Write(p[n:])
		if n += more; err == nil || !c.writes.early(err) {
			return n, err
		}
	}
}

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline sets the deadline of Read, also of one in progress.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.reads.move(t) }

// SetWriteDeadline sets the deadline of Write, also of one in progress.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.writes.move(t) }
