// Package listener opens unix sockets for one user, and bounds how many connections are open at once.
//
//	ln, err := listener.Unix("/run/user/1000/sallyport.sock") // mode 0600, and whoever connects is looked at
//	ln = listener.Limit(ln, 1024)
//	…
//	uid, ok := listener.User(conn)
//
// This package is not promised to others; it may change with any version.
package listener
