package postgrestest

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// Line is a way to a server, on loopback, which can be lost. It is safe for concurrent use.
type Line struct {
	// URL is the address of the server over this line, for its owner.
	URL string

	socket string

	mu     sync.Mutex
	change *sync.Cond
	cut    bool
	silent bool
	conns  map[net.Conn]bool
}

// NewLine opens a line to the server, until the test ends.
func (s *Server) NewLine(t testing.TB) *Line {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{socket: filepath.Join(s.dir, ".s.PGSQL.5432"), conns: map[net.Conn]bool{},
		URL: fmt.Sprintf("postgres://owner@%s/postgres?sslmode=disable&search_path=public", at.Addr())}
	l.change = sync.NewCond(&l.mu)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := at.Accept()
			if err != nil {
				return
			}
			work.Go(func() { l.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = at.Close()
		l.Cut()
		work.Wait()
	})
	return l
}

func (l *Line) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	if !l.open() {
		return
	}
	up, err := net.Dial("unix", l.socket)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.conns[c], l.conns[up] = true, true
	if l.cut {
		_ = errors.Join(c.Close(), up.Close())
	}
	l.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{c: up, up: c} {
		both.Go(func() {
			l.copy(to, from)
			_ = errors.Join(up.Close(), c.Close()) // ends the other direction
		})
	}
	both.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	delete(l.conns, up)
}

func (l *Line) copy(to, from net.Conn) {
	part := make([]byte, 64<<10)
	for {
		n, err := from.Read(part)
		if err != nil || !l.open() {
			return
		}
		if _, err := to.Write(part[:n]); err != nil {
			return
		}
	}
}

// open waits until the line is not silent, and reports whether it is not cut.
func (l *Line) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.silent {
		l.change.Wait()
	}
	return !l.cut
}

// Cut closes all connections, and new ones too.
func (l *Line) Cut() {
	l.set(true, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

// Silence has nothing arrive any more, in either direction, without an error.
func (l *Line) Silence() { l.set(false, true) }

// Mend ends Cut and Silence. Bytes that were sent during a silence arrive.
func (l *Line) Mend() { l.set(false, false) }

func (l *Line) set(cut, silent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.silent = cut, silent
	l.change.Broadcast()
}
