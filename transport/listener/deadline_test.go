package listener

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns a connection with a place and its peer, in a synctest bubble. armed counts the deadlines that reach the
// connection below.
func pair(t *testing.T) (c *Conn, peer net.Conn, armed *int) {
	here, there := net.Pipe()
	below := &armedConn{Conn: here}
	t.Cleanup(func() {
		here.Close()
		there.Close()
	})
	return NewPlaces(8).stranger(below), there, &below.armed
}

type armedConn struct {
	net.Conn
	armed int
}

func (c *armedConn) SetReadDeadline(t time.Time) error {
	c.armed++
	return c.Conn.SetReadDeadline(t)
}

func (c *armedConn) SetWriteDeadline(t time.Time) error {
	c.armed++
	return c.Conn.SetWriteDeadline(t)
}

// times calls f, and checks its error and how long it takes.
func times(t *testing.T, want time.Duration, f func() error) {
	t.Helper()
	begin := time.Now()
	err := f()
	if took := time.Since(begin); took != want || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v after %v, want %v after %v", err, took, os.ErrDeadlineExceeded, want)
	}
}

func TestConn_keepsTheLastDeadline(t *testing.T) {
	operations := map[string]func(c *Conn) (set func(time.Time) error, do func() error){
		"read": func(c *Conn) (func(time.Time) error, func() error) {
			return c.SetReadDeadline, func() error { _, err := c.Read(make([]byte, 1)); return err }
		},
		"write": func(c *Conn) (func(time.Time) error, func() error) {
			return c.SetWriteDeadline, func() error { _, err := c.Write(make([]byte, 1)); return err }
		},
		"both": func(c *Conn) (func(time.Time) error, func() error) {
			return c.SetDeadline, func() error { _, err := c.Read(make([]byte, 1)); return err }
		},
	}
	in := func(seconds int) time.Time { return time.Now().Add(time.Duration(seconds) * time.Second) }
	for name, operation := range operations {
		synctest.Test(t, func(t *testing.T) {
			c, _, _ := pair(t)
			set, do := operation(c)
			for _, deadlines := range [][]int{{10}, {10, 30}, {30, 10}, {10, 30, 20}, {-1, 5}, {5, -1}, {3, 0}} {
				for _, seconds := range deadlines {
					set(in(seconds))
				}
				t.Log(name, deadlines)
				times(t, max(0, time.Duration(deadlines[len(deadlines)-1])*time.Second), do)
			}
			// One in progress ends with an earlier one, and not with one that was cleared or moved.
			set(in(10))
			time.AfterFunc(5*time.Second, func() { set(time.Time{}) })
			time.AfterFunc(20*time.Second, func() { set(in(40)) })
			time.AfterFunc(30*time.Second, func() { set(in(15)) })
			times(t, 45*time.Second, do)
			set(in(10))
			time.AfterFunc(5*time.Second, func() { set(time.Unix(1, 0)) })
			times(t, 5*time.Second, do)
		})
	}
}

func TestConn_readsAndWritesAfterAClearedDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer, _ := pair(t)
		for _, first := range []time.Time{time.Unix(1, 0), time.Now().Add(time.Second)} {
			c.SetDeadline(first)
			c.SetDeadline(time.Time{})
			go func() {
				time.Sleep(time.Hour)
				peer.Write([]byte("ab"))
			}()
			got := make([]byte, 2)
			if n, err := c.Read(got); string(got[:n]) != "ab" || err != nil {
				t.Errorf("Read after deadline %v = %q, %v, want \"ab\"", first, got[:n], err)
			}
		}
	})
}

// A write that an early deadline below interrupts continues where it stopped.
func TestConn_writesEachByteOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer, _ := pair(t)
		c.SetWriteDeadline(time.Now().Add(time.Second))
		c.SetWriteDeadline(time.Now().Add(time.Hour))
		var got [3]byte
		go func() {
			for i := range got {
				time.Sleep(10 * time.Second)
				io.ReadFull(peer, got[i:i+1])
			}
		}()
		if n, err := c.Write([]byte("abc")); n != 3 || err != nil || string(got[:]) != "abc" {
			t.Errorf("Write = %d, %v, and the peer got %q; want 3, no error, \"abc\"", n, err, got)
		}
	})
}

// The deadlines of a thousand requests set a timer only for those that come first.
func TestConn_movesDeadlinesWithoutTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, armed := pair(t)
		for range 1000 {
			for _, d := range []time.Duration{10, 30, 0, 120} {
				at := time.Time{}
				if d > 0 {
					at = time.Now().Add(d * time.Second)
				}
				c.SetReadDeadline(at)
				c.SetWriteDeadline(at)
			}
			time.Sleep(time.Millisecond)
		}
		if *armed != 2 {
			t.Errorf("got %d deadlines set below, want 2", *armed)
		}
	})
}

// An HTTP server interrupts a read at the end of each request: that and one early deadline are set below, and a third
// only if the connection is idle.
func TestConn_setsTwoDeadlinesForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer, armed := pair(t)
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		one := make([]byte, 1)
		request := func(idle time.Duration) {
			interrupted := make(chan error)
			go func() {
				_, err := c.Read(make([]byte, 1))
				interrupted <- err
			}()
			synctest.Wait()
			c.SetReadDeadline(time.Unix(1, 0))
			if err := <-interrupted; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("interrupted Read = %v, want %v", err, os.ErrDeadlineExceeded)
			}
			c.SetReadDeadline(time.Time{})
			c.SetReadDeadline(in(2 * time.Minute))
			go func() {
				time.Sleep(idle)
				peer.Write([]byte("x"))
			}()
			if _, err := c.Read(one); err != nil {
				t.Errorf("Read after %v = %v, want no error", idle, err)
			}
			for _, d := range []time.Duration{10 * time.Second, 30 * time.Second} {
				c.SetReadDeadline(in(d))
			}
			c.SetReadDeadline(time.Time{})
		}
		for range 100 {
			request(time.Millisecond)
		}
		if *armed != 200 {
			t.Errorf("got %d deadlines set below for 100 requests, want 200", *armed)
		}
		*armed = 0
		request(time.Minute)
		if *armed != 4 { // the fourth is that of the headers
			t.Errorf("got %d deadlines set below for a request after a minute, want 4", *armed)
		}
	})
}

func TestConn_returnsOtherErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer, _ := pair(t)
		c.SetDeadline(time.Now().Add(time.Second))
		c.SetDeadline(time.Time{})
		peer.Close()
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("Read = %v, want %v", err, io.EOF)
		}
		if _, err := c.Write(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Write = %v, want %v", err, io.ErrClosedPipe)
		}
	})
}
