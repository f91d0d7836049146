package script

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

const (
	// maxInputs bounds the imported files whose changes are noticed.
	maxInputs = 200
	// maxLooked bounds the paths in one file that are looked for.
	maxLooked = 1000
)

// relativeImport finds the paths of imports that begin with a dot. It is a guess that costs no parser: a path in a text
// or a comment is only one more file to look at.
var relativeImport = regexp.MustCompile(`\b(?:from|import|require)\s*\(?\s*["'](\.{1,2}/[^"'\n]+)["']`)

// Stamp returns the stamp of a script with those of the author's own files that it imports. Packages in node_modules are
// not looked at.
func Stamp(path string) (fileid.Stamp, error) {
	st, err := fileid.Of(path)
	if err != nil {
		return st, err
	}
	for _, input := range Inputs(path) {
		if of, err := fileid.Of(input); err == nil {
			st = st.With(of)
		}
	}
	return st, nil
}

// Inputs returns the author's own files that a script imports, directly or through each other, sorted. Like the bundle,
// they are below the folder of the script, and no link leads out of it.
func Inputs(path string) []string {
	if isPython(path) {
		return pythonInputs(path)
	}
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	entry := filepath.Base(path)
	found := map[string]bool{entry: true}
	for work := []string{entry}; len(work) > 0; work = work[1:] {
		for _, input := range importsOf(root, work[0]) {
			if !found[input] && len(found) <= maxInputs {
				found[input] = true
				work = append(work, input)
			}
		}
	}
	delete(found, entry)
	inputs := make([]string, 0, len(found))
	for input := range found {
		inputs = append(inputs, filepath.Join(dir, input))
	}
	slices.Sort(inputs)
	return inputs
}

// importsOf returns the files that a file imports by a relative path.
func importsOf(root *os.Root, name string) (files []string) {
	if !isSource(root, name) {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil
	}
	for _, m := range relativeImport.FindAllSubmatch(text, maxLooked) {
		if file := resolved(root, filepath.Join(filepath.Dir(name), filepath.FromSlash(string(m[1])))); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// resolved returns the file of an import without its extension; "" if there is none.
func resolved(root *os.Root, name string) string {
	stem := strings.TrimSuffix(name, ".js") // "./x.js" may be x.ts
	for _, candidate := range []string{name, name + ".ts", name + ".js", name + ".json", stem + ".ts", filepath.Join(name, "index.ts"), filepath.Join(name, "index.js")} {
		if isSource(root, candidate) {
			return candidate
		}
	}
	return ""
}

// isRegular returns an error for anything but a regular file.
func isRegular(info os.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		err = fileid.ErrNotRegular
	}
	return err
}

// isSource reports whether a name is that of a regular file that may be a source.
func isSource(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() <= maxFile
}
