package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	// maxUnpacked limits the bytes of a plugin's archives after decompression: a file system of a small image.
	maxUnpacked = 512 << 20
	// maxEntries limits the entries of an archive.
	maxEntries = 10000
)

// unpacked reads an archive, compressed or not, into memory, and returns the files that are wanted by their path. An
// archive with an entry that leads out of its folder is refused as a whole. It takes the bytes after decompression from
// left.
func unpacked(from io.Reader, left *int64, wanted func(name string) bool) (map[string][]byte, error) {
	plain, err := decompressed(from)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	limited := &io.LimitedReader{R: plain, N: *left}
	defer func() { *left = limited.N }()
	t := tar.NewReader(limited)
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF && limited.N > 0 {
			return files, nil
		}
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("it unpacks to more than %d MiB", maxUnpacked>>20)
		case err != nil:
			return nil, fmt.Errorf("the archive is damaged: %v", err)
		case n == maxEntries:
			return nil, fmt.Errorf("the archive has more than %d entries", maxEntries)
		}
		if err := inside(h); err != nil {
			return nil, err
		}
		if hasHoles(h) {
			return nil, fmt.Errorf("the archive's entry %.100q has holes, which take no room in the archive: it is refused", h.Name)
		}
		name := path.Clean("/" + h.Name)[1:]
		if h.Typeflag != tar.TypeReg || !wanted(name) {
			continue
		}
		if _, twice := files[name]; twice {
			return nil, fmt.Errorf("the archive has %q twice", name)
		}
		if h.Size > maxPlugin {
			return nil, tooLarge(h.Size)
		}
		if files[name], err = io.ReadAll(t); err != nil {
			return nil, fmt.Errorf("the archive is damaged: %v", err)
		}
	}
}

// inside refuses an entry that leads out of the archive's folder.
func inside(h *tar.Header) error {
	if outside(h.Name) {
		return fmt.Errorf("the archive's entry %.100q leads outside: it is refused", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		// Absolute links are common in images, where the root is the image itself.
		if to := h.Linkname; !path.IsAbs(to) && outside(path.Join(path.Dir(h.Name), to)) {
			return fmt.Errorf("the archive's link %.100q leads outside, to %.100q: it is refused", h.Name, to)
		}
	case tar.TypeLink:
		if outside(h.Linkname) {
			return fmt.Errorf("the archive's link %.100q leads outside, to %.100q: it is refused", h.Name, h.Linkname)
		}
	}
	return nil
}

// hasHoles reports whether an entry is a sparse file, whose size has no bound in the archive. Those of the older format
// have a type of their own, and are passed over.
func hasHoles(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// outside reports whether a path of an archive has a step above its root, or is one of Windows.
func outside(name string) bool {
	clean := path.Clean(strings.TrimPrefix(name, "/"))
	return clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsAny(name, "\\\x00") || len(name) > 1 && name[1] == ':'
}

// decompressed returns the archive without gzip, if it is compressed.
func decompressed(from io.Reader) (io.Reader, error) {
	var head [2]byte
	n, err := io.ReadFull(from, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), from)
	if !bytes.Equal(head[:n], []byte{0x1f, 0x8b}) {
		return whole, nil
	}
	z, err := gzip.NewReader(whole)
	if err != nil {
		return nil, fmt.Errorf("the archive is damaged: %v", err)
	}
	return z, nil
}
