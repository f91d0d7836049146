// Kernels are functions that do nothing but compute, for measuring what metering costs a Go guest. Each
// takes how much work it is to do and returns a checksum.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o kernels.wasm .
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/bench/internal/workload"
)

func main() {}

// random is a small generator, the same in every run.
type random uint32

func (r *random) next() uint32 {
	*r = *r*1664525 + 1013904223
	return uint32(*r)
}

//go:wasmexport sha256
func sum(kib uint32) uint32 {
	h := sha256.Sum256(bytes.Repeat([]byte("sallyport"), int(kib)*1024/9))
	return crc32.ChecksumIEEE(h[:])
}

//go:wasmexport sort
func sort(n uint32) uint32 {
	var r random
	s := make([]uint32, n)
	for i := range s {
		s[i] = r.next()
	}
	slices.Sort(s)
	return s[n/2]
}

// item is what the JSON kernel reads and writes.
type item struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  []string          `json:"tags"`
	More  map[string]string `json:"more"`
}

//go:wasmexport json
func encode(n uint32) uint32 {
	items := make([]item, n)
	for i := range items {
		items[i] = item{i, "item \"é\"", float64(i) / 7, []string{"a", "b"}, map[string]string{"k": "v"}}
	}
	text, err := json.Marshal(items)
	if err != nil {
		return 0
	}
	var back []item
	if err := json.Unmarshal(text, &back); err != nil {
		return 0
	}
	again, _ := json.Marshal(back)
	return crc32.ChecksumIEEE(again)
}

//go:wasmexport report
func report(n uint32) uint32 {
	arguments, err := json.Marshal(workload.Example(20))
	var sum uint32
	for range n {
		var a workload.ReportArgs
		if err = json.Unmarshal(arguments, &a); err != nil {
			return 0
		}
		r, err := workload.Total(a)
		if err != nil {
			return 0
		}
		text, err := json.Marshal(r)
		if err != nil {
			return 0
		}
		sum += crc32.ChecksumIEEE(text)
	}
	return sum
}

//go:wasmexport sha
func sha(n uint32) uint32 {
	var sum uint32
	for i := range n {
		sum += crc32.ChecksumIEEE([]byte(workload.Digest(workload.SHAArgs{Seed: int(i)})))
	}
	return sum
}

//go:wasmexport regex
func match(n uint32) uint32 {
	text := strings.Repeat("mail a.b@example.com, or c@d.example; not @this nor that@\n", int(n))
	found := regexp.MustCompile(`([a-z.]+)@((?:[a-z]+\.)+[a-z]{2,})`).FindAllString(text, -1)
	return uint32(len(found))
}
