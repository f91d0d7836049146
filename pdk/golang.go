package pdk

import (
	"archive/zip"
	"bytes"
	_ "embed" // the archive
	"io"
)

// goModule is an archive of the folder go, since files of another module cannot be embedded. TestGo_isTheLibrary holds
// it, and writes it with -update.
//
//go:embed go.zip
var goModule []byte

// Go returns the files of the library of Go by their paths in a project, below sallyport, where it is a module of its own.
func Go() map[string]string {
	r, err := zip.NewReader(bytes.NewReader(goModule), int64(len(goModule)))
	if err != nil {
		panic(err) // the embedded archive can be read
	}
	files := map[string]string{}
	for _, f := range r.File {
		text, err := unpacked(f)
		if err != nil {
			panic(err)
		}
		files["sallyport/"+f.Name] = text
	}
	return files
}

func unpacked(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}
