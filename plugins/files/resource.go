package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
	"github.com/sallyport-mcp/sallyport/plugins/internal/granted"
)

func readResource(_ *sallyport.Call, v sallyport.Vars) (sallyport.Contents, error) {
	path := filepath.Clean(granted.Root + v["path"])
	if _, err := os.Stat(path); err != nil {
		return sallyport.Contents{}, fs.ErrNotExist
	}
	data, err := load(path)
	if err != nil {
		return sallyport.Contents{}, err
	}
	r := sallyport.Contents{MIMEType: mimeType(path, data)}
	if isText(data) {
		r.Text = string(data)
		return r, nil
	}
	if len(data) > maxBinary {
		return r, fmt.Errorf("%s is %d bytes of %s, too large to show", path, len(data), r.MIMEType)
	}
	r.Blob = data
	return r, nil
}

// completePath returns the entries that begin with the typed path.
func completePath(_ *sallyport.Call, typed string) ([]string, error) {
	dir, part := filepath.Split(typed)
	entries, err := os.ReadDir(filepath.Clean(granted.Root + dir))
	if err != nil { // no folder, no suggestions
		return nil, nil
	}
	var found []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), part) {
			continue
		}
		if e.IsDir() {
			found = append(found, dir+e.Name()+"/")
		} else {
			found = append(found, dir+e.Name())
		}
	}
	return found, nil
}
