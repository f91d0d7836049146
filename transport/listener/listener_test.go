package listener

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// socketPath is a place for a socket, whose name systems keep short.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// accepted connects to a listener and returns its end of the connection.
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

func TestUnix(t *testing.T) {
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
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := Unix(path); err == nil || err.Error() != path+" is in use by another process" {
		t.Errorf("got %v", err)
	}
	uid, ok := User(accepted(t, Limit(ln, 2)))
	if want := strconv.Itoa(os.Geteuid()); !ok || runtime.GOOS != "windows" && uid != want {
		t.Errorf("user %q, %v, want %q", uid, ok, want)
	}
}

func TestUnix_SomethingInTheWay(t *testing.T) {
	path := socketPath(t)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unix(path); err == nil || err.Error() != path+" is there and is not a socket" {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "precious" {
		t.Error("the file was touched")
	}
}

// So many connections are open at once, and no more; closing one makes room, and closing the listener ends the wait.
func TestLimit(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Limit(tcp, 1)
	first := accepted(t, ln)
	if _, ok := User(first); ok {
		t.Error("who is at the other end of an internet address is known")
	}
	next := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err == nil {
			c.Close()
		}
		next <- err
	}()
	there, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	select {
	case err := <-next:
		t.Fatalf("a second connection beside the only one that may be: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	first.Close()
	if err := <-next; err != nil {
		t.Error(err)
	}
	accepted(t, ln)
	go func() {
		_, err := ln.Accept()
		next <- err
	}()
	ln.Close()
	if err := <-next; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after it was closed: %v", err)
	}
}
