package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"
	"time"
)

// chain computes the MACs of the lines of one process. Each covers the line before it.
type chain struct {
	name string // empty until the first line
	mac  hash.Hash
	last [macSize]byte
	n    uint64 // number of the last line
}

// newChain returns a chain without lines.
func newChain(key []byte, now time.Time) chain {
	random := make([]byte, 3)
	_, _ = rand.Read(random) // never fails
	c := chain{
		name: fmt.Sprintf("%s-%d-%x", now.UTC().Format("20060102T150405"), os.Getpid(), random),
		mac:  hmac.New(sha256.New, key),
	}
	copy(c.last[:], first(c.mac, c.name))
	return c
}

// first is the MAC that precedes the first line of a chain. It covers the chain's name, so that a renamed chain is
// detected.
func first(mac hash.Hash, chain string) []byte {
	mac.Reset()
	_, _ = io.WriteString(mac, chain)
	return mac.Sum(nil)[:macSize]
}

// append appends a line with these members to b.
func (c *chain) append(b []byte, at time.Time, members []byte) []byte {
	start := len(b)
	c.n++
	b = append(b, `{"n":`...)
	b = strconv.AppendUint(b, c.n, 10)
	b = append(b, `,"at":"`...)
	b = at.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `",`...)
	b = append(b, members...)
	sum := lineMAC(c.mac, c.last[:], b[start:])
	copy(c.last[:], sum)
	b = append(b, macStart...)
	b = hex.AppendEncode(b, sum)
	return append(b, "\"}\n"...)
}

// mark identifies the last line.
func (c *chain) mark() Mark { return Mark{Chain: c.name, N: c.n, MAC: hex.EncodeToString(c.last[:])} }
