// Package threads sets how many threads of an HTTP server run Go code at once, by the load.
//
// While guests compute on all threads, none waits for the network: the scheduler looks there every ten milliseconds, and
// reads all requests that have come meanwhile at once. So a busy server needs more threads than there are cores. One
// thread is enough for a client that sends one request after the other. The scheduler would wake the others for nothing:
// net/http starts a goroutine for each request, which waits for the client to leave.
//
//	threads.Fit(5)
//	…
//	threads.Request(conn)   // at the beginning of each request
//	threads.Busy()          // at each interruption of a guest that computes, for a new connection and a large message
//	threads.Watch()         // for reads that find bytes at once, again and again
//	defer threads.Hold()()  // while a module is checked, compiled or loaded
package threads

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// quiet is the time that a connection has to be the only one with requests, and no guest to compute for long, until one
// thread is enough. A change stops all goroutines for a moment.
const quiet = time.Second

// process is the count of this process.
var process = count{set: func(n int) { runtime.GOMAXPROCS(n) }, now: time.Now, start: func(change func()) {
	go change()
	runtime.Gosched() // the only thread may be this one
}}

// Fit fits the number of threads to the load from now on: most of them, or one. A number that is above most stays, and so
// does GOMAXPROCS in the environment.
func Fit(most int) {
	if os.Getenv("GOMAXPROCS") == "" {
		process.fit(max(most, runtime.GOMAXPROCS(0)))
	}
}

// Request notes the beginning of a request on a connection, which is compared by ==. A nil connection may have several
// requests at once.
func Request(conn any) { process.request(conn) }

// Busy notes that a guest computes for longer than most calls take, or other work of which a single client makes little.
// From then on the goroutine is interrupted for others: the reads of sockets (package listener) leave the thread asleep that
// does that.
func Busy() {
	Watch()
	if process.fits.Load() {
		process.busy()
	}
}

// Hold is Busy until release, which is called once.
func Hold() (release func()) {
	process.hold(1)
	return func() { process.hold(-1) }
}

// count decides on the number of threads.
type count struct {
	set   func(int)
	now   func() time.Time
	start func(change func())
	fits  atomic.Bool // fit was called

	mu       sync.Mutex
	most     int
	one      bool      // one thread is wanted
	wasOne   bool      // one thread is set
	conn     any       // of the last request
	since    time.Time // since when it is the only one
	holds    int
	changing bool // change runs
}

func (c *count) fit(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most, c.one, c.wasOne, c.conn, c.since = most, false, false, nil, c.now()
	c.set(most)
	c.fits.Store(true)
}

func (c *count) request(conn any) {
	if !c.fits.Load() {
		return
	}
	c.mu.Lock()
	defer c.leave()
	switch {
	case conn == nil || conn != c.conn:
		c.conn = conn
		c.raise()
	case !c.one && c.holds == 0 && c.now().Sub(c.since) >= quiet:
		c.one = true
	}
}

func (c *count) busy() {
	c.mu.Lock()
	defer c.leave()
	c.raise()
}

func (c *count) hold(n int) {
	c.mu.Lock()
	defer c.leave()
	c.holds += n
	if c.fits.Load() {
		c.raise()
	}
}

// raise takes all threads, and lets the quiet time begin. The caller holds mu.
func (c *count) raise() { c.since, c.one = c.now(), false }

// leave releases mu, and begins to set another number if one is wanted. A collection of garbage that runs delays that until
// its end, which no request and no guest waits for.
func (c *count) leave() {
	begin := !c.changing && c.one != c.wasOne
	c.changing = c.changing || begin
	c.mu.Unlock()
	if begin {
		c.start(c.change)
	}
}

// change sets the number that is wanted, until it is the one that was set.
func (c *count) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.one != c.wasOne {
		one, n := c.one, c.most
		if one {
			n = 1
		}
		c.mu.Unlock()
		c.set(n)
		c.mu.Lock()
		c.wasOne = one
	}
	c.changing = false
}
