package wasi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

func TestStdin_readsPipesAndReaders(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"buffer":   strings.NewReader("hello"),
		"reader":   struct{ io.Reader }{strings.NewReader("hello")},
		"one byte": iotestOneByte{strings.NewReader("hello")},
		"pipe":     filledPipe("hello"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, wasi.Options{Stdin: in})
			var got string
			for {
				s, e := c.read(0, 3)
				if e != wasi.ESUCCESS {
					t.Fatalf("read: got %v, want success", e)
				}
				if s == "" {
					break
				}
				got += s
			}
			if got != "hello" {
				t.Errorf("got input %q, want hello", got)
			}
			if s, e := c.read(0, 3); s != "" || e != wasi.ESUCCESS {
				t.Errorf("read after the end: got %q, %v, want no bytes and success", s, e)
			}
		})
	}
}

type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

func filledPipe(s string) *wasi.Pipe {
	p := wasi.NewPipe(0)
	_, _ = io.WriteString(p, s)
	_ = p.Close()
	return p
}

func TestStdin_empty(t *testing.T) {
	c := newCaller(t, wasi.Options{})
	if s, e := c.read(0, 9); s != "" || e != wasi.ESUCCESS {
		t.Errorf("read of no input: got %q, %v, want no bytes and success", s, e)
	}
}

func TestStdin_error(t *testing.T) {
	c := newCaller(t, wasi.Options{Stdin: struct{ io.Reader }{failing{}}})
	if _, e := c.read(0, 9); e != wasi.EIO {
		t.Errorf("read of a failing input: got %v, want %v", e, wasi.EIO)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errors.New("broken") }
func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStdout_writesBothStreams(t *testing.T) {
	var stdout, stderr bytes.Buffer
	c := newCaller(t, wasi.Options{Stdout: &stdout, Stderr: &stderr})
	if e := c.write(1, "one"); e != wasi.ESUCCESS || c.u32(out) != 3 {
		t.Errorf("write to stdout: got %v and %d bytes, want success and 3", e, c.u32(out))
	}
	if e := c.write(2, "two"); e != wasi.ESUCCESS {
		t.Errorf("write to stderr: got %v, want success", e)
	}
	if stdout.String() != "one" || stderr.String() != "two" {
		t.Errorf("got stdout %q and stderr %q, want one and two", &stdout, &stderr)
	}
	if e := c.write(0, "no"); e != wasi.EBADF {
		t.Errorf("write to stdin: got %v, want %v", e, wasi.EBADF)
	}
	if _, e := c.read(1, 4); e != wasi.EBADF {
		t.Errorf("read from stdout: got %v, want %v", e, wasi.EBADF)
	}
	c.must("fd_renumber", 2, 1)
	if e := c.write(1, "moved"); e != wasi.ESUCCESS || stderr.String() != "twomoved" {
		t.Errorf("write after renumber: got %v and stderr %q, want success and twomoved", e, &stderr)
	}
	if e := c.write(2, "x"); e != wasi.EBADF {
		t.Errorf("write to the renumbered descriptor: got %v, want %v", e, wasi.EBADF)
	}
	c.want(wasi.EBADF, "fd_renumber", 1, 9)
	c.want(wasi.ESPIPE, "fd_seek", 1, 0, 0, out)
	c.want(wasi.ESPIPE, "fd_tell", 1, out)
	c.want(wasi.ESPIPE, "fd_pread", 1, iovs, 0, 0, out)
	c.want(wasi.EINVAL, "fd_sync", 1)
}

func TestStdout_closed(t *testing.T) {
	c := newCaller(t, wasi.Options{Stdout: failing{}})
	if e := c.write(1, "x"); e != wasi.EPIPE {
		t.Errorf("write to a closed stdout: got %v, want %v", e, wasi.EPIPE)
	}
}

func TestNonblock_returnsEAGAIN(t *testing.T) {
	in, stdout := wasi.NewPipe(512), wasi.NewPipe(512)
	c := newCaller(t, wasi.Options{Stdin: in, Stdout: stdout, Nonblock: true})
	c.must("fd_fdstat_get", 0, out)
	if flags := c.u16(out + 2); flags != 4 {
		t.Errorf("nonblocking pipe: got flags %d, want 4", flags)
	}
	if _, e := c.read(0, 4); e != wasi.EAGAIN {
		t.Errorf("read from an empty pipe: got %v, want %v", e, wasi.EAGAIN)
	}
	_, _ = io.WriteString(in, "ab")
	if s, e := c.read(0, 4); s != "ab" || e != wasi.ESUCCESS {
		t.Errorf("read from a pipe: got %q, %v, want ab and success", s, e)
	}
	if e := c.write(1, strings.Repeat("x", 600)); e != wasi.ESUCCESS || c.u32(out) != 512 {
		t.Errorf("write to a small pipe: got %v and %d bytes, want success and 512", e, c.u32(out))
	}
	if e := c.write(1, "y"); e != wasi.EAGAIN {
		t.Errorf("write to a full pipe: got %v, want %v", e, wasi.EAGAIN)
	}
	stdout.CloseRead()
	if e := c.write(1, "y"); e != wasi.EPIPE {
		t.Errorf("write to a pipe without a reader: got %v, want %v", e, wasi.EPIPE)
	}
	_ = in.Close()
	if s, e := c.read(0, 4); s != "" || e != wasi.ESUCCESS {
		t.Errorf("read at the end: got %q, %v, want no bytes and success", s, e)
	}
	c.want(wasi.EINVAL, "fd_fdstat_set_flags", 0, 32)
	c.want(wasi.EBADF, "fd_fdstat_set_flags", 77, 0)
	c.must("fd_fdstat_set_flags", 0, 0)
	c.must("fd_fdstat_get", 0, out)
	if flags := c.u16(out + 2); flags != 0 {
		t.Errorf("blocking pipe: got flags %d, want 0", flags)
	}
}

func TestBlocking_obeysContext(t *testing.T) {
	for _, name := range []string{"read", "write", "poll"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full := wasi.NewPipe(0)
				c := newCaller(t, wasi.Options{Stdin: wasi.NewPipe(0), Stdout: full})
				_, _ = full.Write(make([]byte, 512))
				ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
				defer cancel()
				c.ctx = ctx
				start := time.Now()
				var e wasi.Errno
				switch name {
				case "read":
					_, e = c.read(0, 4)
				case "write":
					e = c.write(1, "abc")
				case "poll":
					c.subscribe(0, 0, 1, 365*24*time.Hour, 0)
					e = c.call("poll_oneoff", str, buf, 1, out)
				}
				if e != wasi.ECANCELED || time.Since(start) != time.Minute {
					t.Errorf("got %v after %v, want %v after %v", e, time.Since(start), wasi.ECANCELED, time.Minute)
				}
			})
		})
	}
}

func TestState_Close_endsThePump(t *testing.T) {
	r, w := io.Pipe()
	state := wasi.NewState(wasi.Options{Stdin: r})
	state.Close()
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("write to the input of a closed state: got success, want an error")
	}
	state.Close()
}

// subscribe writes subscription i: kind 0 is a clock (id, timeout, flags), 1 and 2 are descriptors.
func (c *caller) subscribe(i int, kind byte, id uint32, timeout time.Duration, flags uint16) {
	s := c.mem[str+48*i:][:48]
	clear(s)
	binary.LittleEndian.PutUint64(s, uint64(100+i))
	s[8] = kind
	binary.LittleEndian.PutUint32(s[16:], id)
	binary.LittleEndian.PutUint64(s[24:], uint64(timeout))
	binary.LittleEndian.PutUint16(s[40:], flags)
}

// event is an event written by poll_oneoff.
type event struct {
	user  uint64
	errno wasi.Errno
	kind  byte
	size  uint64
	flags uint16
}

func (c *caller) poll(n int) []event {
	c.t.Helper()
	c.must("poll_oneoff", str, buf, uint64(n), out)
	var events []event
	for i := range uint64(c.u32(out)) {
		at := buf + 32*i
		events = append(events, event{c.u64(at), wasi.Errno(c.u16(at + 8)), c.mem[at+10], c.u64(at + 16), c.u16(at + 24)})
	}
	return events
}

func TestPoll_clocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mono int64 = 5 * int64(time.Second)
		c := newCaller(t, wasi.Options{Monotonic: func() int64 { return mono }})
		for _, test := range []struct {
			clock   uint32
			timeout time.Duration
			flags   uint16
			want    time.Duration
		}{
			{1, 0, 0, 0},
			{1, 1, 0, wasi.Grain},
			{1, 3 * time.Second, 0, 3 * time.Second},
			{0, 3*time.Second + 1, 0, 3*time.Second + wasi.Grain},
			{1, 7 * time.Second, 1, 2 * time.Second},
			{1, 4 * time.Second, 1, 0},
			{0, time.Duration(time.Now().Add(time.Hour).UnixNano()), 1, 0}, // set below
		} {
			if test.clock == 0 && test.flags == 1 {
				test.timeout = time.Duration(time.Now().Truncate(wasi.Grain).Add(time.Hour).UnixNano())
				test.want = time.Hour
			}
			c.subscribe(0, 0, test.clock, test.timeout, test.flags)
			start := time.Now()
			events := c.poll(1)
			if !slices.Equal(events, []event{{user: 100}}) {
				t.Errorf("got events %v, want only that of the clock", events)
			}
			if took := time.Since(start); took != test.want {
				t.Errorf("clock %d, %v, flags %d: took %v, want %v", test.clock, test.timeout, test.flags, took, test.want)
			}
		}
	})
}

func TestPoll_mixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdout := wasi.NewPipe(600), wasi.NewPipe(600)
		c := newCaller(t, wasi.Options{Stdin: in, Stdout: stdout, Tree: newTree(t, t.TempDir())})
		file := c.mustOpen("w/f", create, rightsRead|rightsWrite, 0)
		_, _ = stdout.Write(make([]byte, 600))

		c.subscribe(0, 0, 1, time.Minute, 0)
		c.subscribe(1, 1, 0, 0, 0)
		c.subscribe(2, 2, 1, 0, 0)
		if got := c.poll(3); !slices.Equal(got, []event{{user: 100}}) {
			t.Errorf("nothing ready: got events %v, want only that of the clock", got)
		}
		go func() {
			time.Sleep(time.Second)
			_, _ = io.WriteString(in, "abc")
		}()
		start := time.Now()
		if got := c.poll(3); !slices.Equal(got, []event{{user: 101, kind: 1, size: 3}}) || time.Since(start) != time.Second {
			t.Errorf("input: got events %v after %v, want 3 readable bytes after %v", got, time.Since(start), time.Second)
		}
		_, _ = c.read(0, 3)
		go func() {
			_, _ = stdout.Read(make([]byte, 100))
			_ = in.Close()
		}()
		synctest.Wait()
		if got := c.poll(3); !slices.Equal(got, []event{{user: 101, kind: 1, flags: 1}, {user: 102, kind: 2, size: 100}}) {
			t.Errorf("room and end: got events %v, want the end of input and room for 100 bytes", got)
		}
		c.subscribe(0, 1, uint32(file), 0, 0)
		c.subscribe(1, 1, 99, 0, 0)
		c.subscribe(2, 0, 3, 0, 0)
		if got := c.poll(3); !slices.Equal(got, []event{
			{user: 100, kind: 1},
			{user: 101, kind: 1, errno: wasi.EBADF},
			{user: 102, errno: wasi.EINVAL},
		}) {
			t.Errorf("file, bad descriptor, bad clock: got events %v, want success, %v, %v", got, wasi.EBADF, wasi.EINVAL)
		}
		c.subscribe(0, 7, 0, 0, 0)
		c.want(wasi.EINVAL, "poll_oneoff", str, buf, 1, out)
	})
}

func TestPoll_plainStreams(t *testing.T) {
	c := newCaller(t, wasi.Options{Stdin: strings.NewReader("x")})
	c.subscribe(0, 1, 0, 0, 0)
	c.subscribe(1, 2, 1, 0, 0)
	c.subscribe(2, 0, 1, time.Hour, 0)
	if got := c.poll(3); !slices.Equal(got, []event{{user: 100, kind: 1}, {user: 101, kind: 2}}) {
		t.Errorf("got events %v, want both streams ready", got)
	}
}
