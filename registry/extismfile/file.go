package extismfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// File is a manifest that was read, and where its module lies. It is never changed.
type File struct {
	Manifest *Manifest
	Module   string // the path; "" with Err
	Err      error  // why it has no module; ErrOutside waits for the operator
}

// Is tells by the name whether a file is a manifest and no module.
func Is(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// Read reads a manifest at an absolute path. The stamp is that of the bytes that were read, or of the file if they were
// not.
func Read(path string) (*File, fileid.Stamp, error) {
	st, err := fileid.Of(path)
	if err != nil {
		return nil, st, fileid.Plain(err)
	}
	if st.Size > MaxSize {
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

// Check refuses a module of another digest than the manifest's.
func (f *File) Check(digest string) error {
	if want := f.Manifest.Digest; want != "" && want != digest {
		return fmt.Errorf("the module is %s, and the manifest wants %s", digest, want)
	}
	return nil
}
