//go:build linux && !race

package listener

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/threads"
)

// sockets returns both ends of a connection.
func sockets(t *testing.T, network string) (here, there net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if there, err = net.Dial(network, ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if here, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		here.Close()
		there.Close()
	})
	return here, there
}

// result describes the end of an operation, without what differs from socket to socket.
func result(n int, err error) string {
	text := fmt.Sprintf("%d %v", n, reflect.TypeOf(err))
	var op *net.OpError
	if errors.As(err, &op) {
		text += fmt.Sprintf(" %s %s %v %v %v %v", op.Op, op.Net, op.Source != nil, op.Addr != nil, op.Timeout(), reflect.TypeOf(op.Err))
	}
	for _, is := range []error{io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, is) {
			text += fmt.Sprintf(" %q", is)
		}
	}
	return text
}

// A connection reads, writes and fails as the socket below.
func TestDirect_equalsTheSocket(t *testing.T) {
	buf := make([]byte, 100)
	past := time.Now().Add(-time.Second)
	scenarios := map[string]func(c, peer net.Conn) (int, error){
		"some bytes":    func(c, peer net.Conn) (int, error) { peer.Write([]byte("hello")); return c.Read(buf) },
		"no room":       func(c, peer net.Conn) (int, error) { return c.Read(nil) },
		"nothing":       func(c, peer net.Conn) (int, error) { return c.Write(nil) },
		"an end":        func(c, peer net.Conn) (int, error) { peer.Close(); return c.Read(buf) },
		"no room after": func(c, peer net.Conn) (int, error) { peer.Close(); return c.Read(buf[:0]) },
		"a deadline":    func(c, peer net.Conn) (int, error) { c.SetReadDeadline(past); return c.Read(buf) },
		"a deadline of writes": func(c, peer net.Conn) (int, error) {
			c.SetWriteDeadline(past)
			return c.Write(buf)
		},
		"a close": func(c, peer net.Conn) (int, error) { c.Close(); return c.Read(buf) },
		"a close of writes": func(c, peer net.Conn) (int, error) {
			c.Close()
			return c.Write(buf)
		},
		"a close meanwhile": func(c, peer net.Conn) (int, error) {
			time.AfterFunc(time.Millisecond, func() { c.Close() })
			return c.Read(buf)
		},
		"a reset": func(c, peer net.Conn) (int, error) {
			if tcp, ok := peer.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			} else {
				c.Write(buf) // unread at the close
			}
			peer.Close()
			return c.Read(buf)
		},
		"a peer that left": func(c, peer net.Conn) (int, error) {
			peer.Close()
			for {
				if n, err := c.Write(buf); err != nil && !errors.Is(err, syscall.ECONNRESET) {
					return n, err
				}
			}
		},
	}
	for _, network := range []string{"tcp", "unix"} {
		for name, do := range scenarios {
			plain, peer := sockets(t, network)
			want := result(do(plain, peer))
			below, peer := sockets(t, network)
			c := NewPlaces(8).stranger(below)
			if _, direct := c.in.(reader); !direct {
				t.Fatalf("%s: got a %T, want direct reads", network, c.in)
			}
			if got := result(do(c, peer)); got != want {
				t.Errorf("%s, %s: got %s, want %s", network, name, got, want)
			}
		}
	}
}

// Megabytes pass in both directions at once, in parts, and what several goroutines write is not
// mixed.
func TestDirect_transfersAll(t *testing.T) {
	const writers, each = 4, 1 << 20
	for _, network := range []string{"tcp", "unix"} {
		below, peer := sockets(t, network)
		c := NewPlaces(8).stranger(below)
		var group sync.WaitGroup
		for _, end := range []net.Conn{c, peer} {
			for i := range writers {
				group.Go(func() {
					if n, err := end.Write(bytes.Repeat([]byte{byte(i)}, each)); n != each || err != nil {
						t.Errorf("%s: wrote %d bytes, %v", network, n, err)
					}
				})
			}
			group.Go(func() {
				all := make([]byte, writers*each)
				if _, err := io.ReadFull(end, all); err != nil {
					t.Error(err)
				}
				for at := 0; at < len(all); at += each {
					if part := all[at : at+each]; bytes.Count(part, part[:1]) != each {
						t.Errorf("%s: got several writers' bytes in part %d", network, at/each)
					}
				}
			})
		}
		group.Wait()
	}
}

// A read and a write make no garbage.
func TestDirect_allocatesNothing(t *testing.T) {
	below, peer := sockets(t, "tcp")
	c := NewPlaces(8).stranger(below)
	buf := make([]byte, 10)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(peer, buf); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// spinner is the variable with the socket of a process that runs spin.
const spinner = "SALLYPORT_TEST_SPINNER"

func TestMain(m *testing.M) {
	if path := os.Getenv(spinner); path != "" {
		spin(path)
		return
	}
	os.Exit(m.Run())
}

// Bytes for spin.
const (
	second      = iota // computes for a second, as a guest
	millisecond        // computes for a millisecond
	last               // ends the milliseconds
)

// spin accepts two connections. It computes after each byte of the first one, and answers those of the second one with
// whether it computes.
func spin(path string) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	accept := func() net.Conn {
		c, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		return NewPlaces(8).stranger(c)
	}
	first, second := accept(), accept()
	var computes atomic.Bool
	go func() {
		for b := make([]byte, 1); ; {
			if _, err := second.Read(b); err != nil {
				return
			}
			fmt.Fprintf(second, "%t\n", computes.Load())
		}
	}()
	for b := make([]byte, 1); ; {
		if _, err := first.Read(b); err != nil {
			return
		}
		begin, noted := time.Now(), time.Now()
		switch b[0] {
		case millisecond:
			computes.Store(true)
			for time.Since(begin) < time.Millisecond {
			}
			continue
		case last:
			computes.Store(false)
			first.Write(b)
			continue
		}
		computes.Store(true)
		first.Write(b)
		for time.Since(begin) < time.Second {
			if time.Since(noted) > 5*time.Millisecond { // as a guest does
				threads.Busy()
				noted = time.Now()
			}
		}
		computes.Store(false)
		first.Write(b)
	}
}

// spinning returns two connections to a process with one thread that runs spin.
func spinning(t *testing.T) (computes, other net.Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), spinner+"="+path, "GOMAXPROCS=1")
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Process.Kill()
		child.Wait()
	})
	dial := func() net.Conn {
		for begin := time.Now(); ; time.Sleep(time.Millisecond) {
			c, err := net.Dial("unix", path)
			if err == nil {
				t.Cleanup(func() { c.Close() })
				return c
			}
			if time.Since(begin) > time.Minute {
				t.Fatal(err)
			}
		}
	}
	computes = dial()
	return computes, dial()
}

// What computes on the only thread is interrupted for other connections. The read that began it wakes no thread that would
// do that, so Busy has to.
func TestDirect_leavesInterruptsToBusy(t *testing.T) {
	computes, other := spinning(t)
	b, answers := make([]byte, 1), bufio.NewReader(other)
	for range 3 {
		time.Sleep(100 * time.Millisecond) // all threads of the process sleep
		computes.Write([]byte{second})
		if _, err := computes.Read(b); err != nil {
			t.Fatal(err)
		}
		other.Write(b)
		if got, err := answers.ReadString('\n'); got != "true\n" {
			t.Errorf("got %q, %v, want an answer while the process computes", got, err)
		}
		if _, err := computes.Read(b); err != nil {
			t.Fatal(err)
		}
	}
}

// A connection whose next bytes are always there, as those of requests that are sent without waiting for answers, leaves
// time for others: its reads wake the thread that interrupts it.
func TestDirect_leavesTimeWhileBytesAreThere(t *testing.T) {
	computes, other := spinning(t)
	b, answers := make([]byte, 1), bufio.NewReader(other)
	time.Sleep(100 * time.Millisecond) // all threads of the process sleep
	computes.Write(append(bytes.Repeat([]byte{millisecond}, 2000), last))
	time.Sleep(20 * time.Millisecond) // it has begun
	other.Write(b)
	if got, err := answers.ReadString('\n'); got != "true\n" {
		t.Errorf("got %q, %v, want an answer while bytes are there", got, err)
	}
	if _, err := computes.Read(b); err != nil {
		t.Fatal(err)
	}
}
