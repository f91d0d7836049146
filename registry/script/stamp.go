package script

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// maxInputs bounds the imported files whose changes are noticed.
const maxInputs = 200

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

// Inputs returns the author's own files that a script imports, directly or through each other, sorted.
func Inputs(path string) []string {
	found := map[string]bool{path: true}
	for work := []string{path}; len(work) > 0; work = work[1:] {
		for _, input := range importsOf(work[0]) {
			if !found[input] && len(found) <= maxInputs {
				found[input] = true
				work = append(work, input)
			}
		}
	}
	delete(found, path)
	inputs := make([]string, 0, len(found))
	for input := range found {
		inputs = append(inputs, input)
	}
	slices.Sort(inputs)
	return inputs
}

// importsOf returns the files that a file imports by a relative path.
func importsOf(path string) (files []string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for _, m := range relativeImport.FindAllSubmatch(text, -1) {
		if file := resolved(filepath.Join(filepath.Dir(path), filepath.FromSlash(string(m[1])))); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// resolved returns the file of an import without its extension; "" if there is none.
func resolved(path string) string {
	stem := strings.TrimSuffix(path, ".js") // "./x.js" may be x.ts
	for _, candidate := range []string{path, path + ".ts", path + ".js", path + ".json", stem + ".ts", filepath.Join(path, "index.ts"), filepath.Join(path, "index.js")} {
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
			return candidate
		}
	}
	return ""
}
