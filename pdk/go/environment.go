package sallyport

import (
	"encoding/binary"
	"io"
	"os"
	"strconv"
)

// Random reads cryptographically secure random bytes from the host. They differ in every call, unlike those of
// math/rand, which is seeded once at initialization.
var Random io.Reader = randomReader{}

type randomReader struct{}

func (randomReader) Read(p []byte) (int, error) {
	if err := readRandom(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// RandomSource is a source for math/rand/v2 that uses [Random]:
//
//	r := rand.New(sallyport.RandomSource{})
type RandomSource struct{}

// Uint64 returns 64 random bits. It panics if the host provides no random numbers, which does not happen in
// Sallyport.
func (RandomSource) Uint64() uint64 {
	var b [8]byte
	if err := readRandom(b[:]); err != nil {
		panic("sallyport: random_get: " + err.Error())
	}
	return binary.LittleEndian.Uint64(b[:])
}

// Config returns a value of the plugin's configuration, set by the operator under config:, or fallback if it is not
// set. Values are environment variables: os.LookupEnv distinguishes unset from empty ones.
func Config(key, fallback string) string {
	if v, ok := os.LookupEnv(key); ok {
		return v
	}
	return fallback
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
