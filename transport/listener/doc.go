// Package listener opens owner-only unix sockets, and limits the open connections of a server fairly among callers.
//
//	ln, err := listener.Unix("/run/user/1000/sallyport.sock") // mode 0600, and the peer's user is checked
//	ln = listener.NewPlaces(1024).Listen(ln)                  // a connection begins as a stranger's
//	…
//	c := listener.Of(conn)
//	uid, ok := c.User()
//	c.Known("token:ci")                                       // and becomes a caller's
package listener
