//go:build !wasip1

package nethttp

import "net/http"

// Register makes a transport send its requests by http/fetch. It changes nothing on this system.
func Register(*http.Transport) {}
