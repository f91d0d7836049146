package listener

import (
	"net"
	"sync"
)

// Limit returns a listener with at most n open connections; more wait in the system's queue.
func Limit(ln net.Listener, n int) net.Listener {
	return &limitedListener{Listener: ln, room: make(chan struct{}, n), done: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	room chan struct{} // holds one for each connection
	once sync.Once
	done chan struct{}
}

// Accept waits for room, then for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close ends a waiting Accept too.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close makes room for another connection.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
