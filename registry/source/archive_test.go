package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// sparse returns an archive whose members have holes of so many bytes and no content.
func sparse(t *testing.T, size int64, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	record := func(key, value string) string {
		text := fmt.Sprintf(" %s=%s\n", key, value)
		n := len(text) + 2
		return fmt.Sprint(n+len(fmt.Sprint(n))-2) + text
	}
	member := func(kind byte, name, content string) {
		var one bytes.Buffer
		w := tar.NewWriter(&one)
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		head := one.Bytes()
		head[156] = kind // which the writer refuses to write
		copy(head[148:156], "        ")
		sum := 0
		for _, c := range head[:512] {
			sum += int(c)
		}
		copy(head[148:156], fmt.Sprintf("%06o\x00 ", sum))
		out.Write(head)
	}
	for _, name := range names {
		member(tar.TypeXHeader, "x", record("GNU.sparse.major", "1")+record("GNU.sparse.minor", "0")+record("GNU.sparse.name", name)+record("GNU.sparse.realsize", fmt.Sprint(size)))
		member(tar.TypeReg, "y", fmt.Sprintf("%-512s", fmt.Sprintf("1\n%d\n0\n", size))[:512])
	}
	out.Write(make([]byte, 1024))
	return out.Bytes()
}

// A file with holes is as large in memory as it likes, and has no bytes in the archive.
func TestUnpacked_refusesFilesWithHoles(t *testing.T) {
	left := int64(maxUnpacked)
	files, err := unpacked(bytes.NewReader(sparse(t, 3<<20, "a.wasm", "b.wasm")), &left, func(name string) bool { return strings.HasSuffix(name, extModule) })
	if err == nil || !strings.Contains(err.Error(), "has holes") {
		t.Errorf("got files of %d and %d bytes, %v; want them refused", len(files["a.wasm"]), len(files["b.wasm"]), err)
	}
}

// The layers of an image are bounded together: each may be small, and unpack to a lot.
func TestFetch_boundsTheLayersOfAnImageTogether(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	w := tar.NewWriter(z)
	const size = maxUnpacked/2 + 1
	if err := w.WriteHeader(&tar.Header{Name: "x", Size: size, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	s := newRegistry(t)
	l := layer{ocispec.MediaTypeImageLayerGzip, bomb.Bytes()}
	s.push("acme/bombs", "1", l, l, l)
	if a, err := fetch(t, "oci://"+s.host+"/acme/bombs:1"); err == nil || !strings.Contains(err.Error(), "it unpacks to more than 512 MiB") {
		t.Errorf("got %+v, %v, want its layers refused", a, err)
	}
}
