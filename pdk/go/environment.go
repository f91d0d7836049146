package sallyport

import (
	"encoding/binary"
	"io"
	"os"
	"strconv"
)

// Random reads random bytes of the host, fit for keys. It gives other bytes in every call, which
// math/rand, seeded once at start-up, does not.
var Random io.Reader = randomReader{}

type randomReader struct{}

func (randomReader) Read(p []byte) (int, error) {
	if err := readRandom(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// RandomSource is a source for math/rand/v2 over [Random]:
//
//	r := rand.New(sallyport.RandomSource{})
type RandomSource struct{}

// Uint64 returns 64 random bits. It panics if the host has no random numbers, which none does.
func (RandomSource) Uint64() uint64 {
	var b [8]byte
	if err := readRandom(b[:]); err != nil {
		panic("sallyport: random_get: " + err.Error())
	}
	return binary.LittleEndian.Uint64(b[:])
}

// Config returns a value of the plugin's configuration, as the operator wrote it under config:, or
// fallback if there is none. Values are environment variables; os.LookupEnv tells absent from empty.
func Config(key, fallback string) string {
	if v, ok := os.LookupEnv(key); ok {
		return v
	}
	return fallback
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
