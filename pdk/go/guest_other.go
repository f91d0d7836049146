//go:build !wasip1

package sallyport

import "crypto/rand"

// serve does nothing outside of a module. Tests use sallyporttest.
func serve(*Plugin) {}

func readRandom(p []byte) error {
	_, err := rand.Read(p)
	return err
}
