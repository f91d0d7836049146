// Package listener opens unix sockets for one user, and shares out how many connections are open at once.
//
//	ln, err := listener.Unix("/run/user/1000/sallyport.sock") // mode 0600, and the peer's user is checked
//	ln = listener.NewPlaces(1024).Listen(ln)                  // a connection begins as a stranger's
//	…
//	c := listener.Of(conn)
//	uid, ok := c.User()
//	c.Known("token:ci")                                       // and becomes a caller's
//
// This package is not promised to others; it may change with any version.
package listener
