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
	"strings"
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

// Megabytes pass in both directions at once, in parts, and the bytes of several writers are not mixed.
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
	aSecond      = iota // computes for a second, as a guest, between two bytes of its own
	begin               // returned at once; what follows computes
	aMillisecond        // computes for a millisecond
	end                 // returned, when all before is computed
)

// spin accepts two connections, and prints a line when it can. It computes by the bytes of the first one, and answers those
// of the second one with whether it computes.
func spin(path string) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	fmt.Println("listening")
	accept := func() net.Conn {
		c, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		return NewPlaces(8).stranger(c)
	}
	orders, questions := accept(), accept()
	var computes atomic.Bool
	go func() {
		for b := make([]byte, 1); ; {
			if _, err := questions.Read(b); err != nil {
				return
			}
			fmt.Fprintf(questions, "%t\n", computes.Load())
		}
	}()
	for b := make([]byte, 1); ; {
		if _, err := orders.Read(b); err != nil {
			return
		}
		started, noted := time.Now(), time.Now()
		switch b[0] {
		case aSecond:
			computes.Store(true)
			orders.Write(b)
			for time.Since(started) < time.Second {
				if time.Since(noted) > 5*time.Millisecond { // as a guest does
					threads.Busy()
					noted = time.Now()
				}
			}
			computes.Store(false)
			orders.Write(b)
		case aMillisecond:
			for time.Since(started) < time.Millisecond {
			}
		default:
			computes.Store(b[0] == begin)
			orders.Write(b)
		}
	}
}

// spinning is a process with one thread that runs spin.
type spinning struct {
	orders, questions net.Conn
	answers           *bufio.Reader
	pid               int
}

func startSpinning(t *testing.T) *spinning {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), spinner+"="+path, "GOMAXPROCS=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Process.Kill()
		child.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	dial := func() net.Conn {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	s := &spinning{orders: dial(), questions: dial(), pid: child.Process.Pid}
	s.answers = bufio.NewReader(s.questions)
	return s
}

// order sends bytes and awaits the first one that is returned.
func (s *spinning) order(t *testing.T, all ...byte) {
	t.Helper()
	if _, err := s.orders.Write(all); err != nil {
		t.Fatal(err)
	}
	s.await(t)
}

func (s *spinning) await(t *testing.T) {
	t.Helper()
	if _, err := s.orders.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// answersMeanwhile checks that a question is answered while the process computes.
func (s *spinning) answersMeanwhile(t *testing.T) {
	t.Helper()
	s.questions.Write([]byte("?"))
	if got, err := s.answers.ReadString('\n'); got != "true\n" {
		t.Errorf("got %q, %v, want an answer while the process computes", got, err)
	}
}

// awaitSleep returns when all threads of the process sleep. The one that watches the others looks around each ten
// milliseconds at least until then.
func (s *spinning) awaitSleep(t *testing.T) {
	t.Helper()
	for last := ""; ; time.Sleep(30 * time.Millisecond) {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", s.pid))
		now := ""
		for _, file := range files {
			text, _ := os.ReadFile(file) // a thread may have ended
			_, switches, _ := strings.Cut(string(text), "voluntary_ctxt_switches:")
			now += file + switches
		}
		if err != nil || now == "" {
			t.Fatalf("no threads of process %d: %v", s.pid, err)
		}
		if now == last {
			return
		}
		last = now
	}
}

// A computation on the only thread is interrupted for other connections. The read that began it wakes no thread that would
// do that, so Busy has to.
func TestDirect_leavesInterruptsToBusy(t *testing.T) {
	s := startSpinning(t)
	for range 3 {
		s.awaitSleep(t)
		s.order(t, aSecond)
		s.answersMeanwhile(t)
		s.await(t)
	}
}

// A connection whose next bytes are always there, as those of requests that are sent without waiting for answers, leaves
// time for others: its reads wake the thread that interrupts it.
func TestDirect_leavesTimeWhileBytesAreThere(t *testing.T) {
	s := startSpinning(t)
	s.awaitSleep(t)
	s.order(t, append(append([]byte{begin}, bytes.Repeat([]byte{aMillisecond}, 2000)...), end)...)
	s.answersMeanwhile(t)
	s.await(t)
}
