// Package pdk holds the sources of the libraries for the authors of plugins, for new projects in their languages.
package pdk

import (
	"embed"
	"io/fs"
)

//go:embed c/sallyport.h
var header string

// C returns sallyport.h, the whole library of C and C++.
func C() string { return header }

//go:embed rust/Cargo.toml rust/LICENSE rust/README.md rust/src/*.rs
var crate embed.FS

// Rust returns the files of the crate by their paths in a project, below sallyport.
func Rust() map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(crate, "rust", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := crate.ReadFile(path)
		files["sallyport"+path[len("rust"):]] = string(text)
		return err
	})
	if err != nil {
		panic(err) // embedded files can be read
	}
	return files
}
