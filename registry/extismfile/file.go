package extismfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// File is a parsed manifest and the place of its module. It is immutable.
type File struct {
	Manifest *Manifest
	Module   string // absolute path; "" with Err
	Err      error  // why it has no module; with ErrOutside the operator has to name it
}

// Is reports by its name whether a file is a manifest rather than a module.
func Is(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// Read loads a manifest at an absolute path. The stamp is that of the bytes read, or of the file if they were not read.
func Read(path string) (*File, fileid.Stamp, error) {
	st, err := fileid.Of(path)
	if err != nil {
		return nil, st, fileid.Plain(err)
	}
	if st.Size > maxSize {
		return nil, st, errTooLarge
	}
	raw, st, err := fileid.Read(path)
	if err != nil {
		return nil, st, err
	}
	f := &File{}
	if f.Manifest, err = Parse(raw); err != nil {
		return nil, st, err
	}
	f.Module, f.Err = f.Manifest.Module(path)
	return f, st, nil
}

// Check returns an error if the digest is not the one in the manifest.
func (f *File) Check(digest string) error {
	if want := f.Manifest.Digest; want != "" && want != digest {
		return fmt.Errorf("the module is %s, and the manifest wants %s", digest, want)
	}
	return nil
}
