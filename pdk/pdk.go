// Package pdk holds the sources of the libraries for the authors of plugins, for new projects in their languages.
package pdk

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed c/sallyport.h
var header string

// C returns sallyport.h, the whole library of C and C++.
func C() string { return header }

//go:embed rust/Cargo.toml rust/LICENSE rust/README.md rust/src/*.rs
var crate embed.FS

// Rust returns the files of the crate by their paths in a project, below sallyport.
func Rust() map[string]string { return library(crate, "rust") }

//go:embed zig/src/*.zig
var zig embed.FS

// Zig returns the files of the library of Zig by their paths in a project, below sallyport.
func Zig() map[string]string { return library(zig, "zig/src") }

//go:embed assemblyscript/asconfig.json assemblyscript/sallyport/*.ts
var assemblyScript embed.FS

// AssemblyScript returns the files of the library of AssemblyScript by their paths in a project, below sallyport, and its
// options of the compiler in asconfig.json.
func AssemblyScript() (files map[string]string, options string) {
	text, err := assemblyScript.ReadFile("assemblyscript/asconfig.json")
	if err != nil {
		panic(err) // embedded files can be read
	}
	return library(assemblyScript, "assemblyscript/sallyport"), string(text)
}

// library returns the files of a folder by their paths in a project, without tests.
func library(files embed.FS, dir string) map[string]string {
	all := map[string]string{}
	err := fs.WalkDir(files, dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "_test.") {
			return err
		}
		text, err := files.ReadFile(path)
		all["sallyport"+strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		panic(err) // embedded files can be read
	}
	return all
}
