package script

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// pythonEngine is MicroPython, built by make python-engine.
//
//go:embed python/engine.wasm
var pythonEngine []byte

//go:embed python/library/*.py
var pythonFiles embed.FS

const (
	// pythonBlobAt and pythonBlobMagic are those of python/engine.c.
	pythonBlobAt    = 4 << 20
	pythonBlobMagic = 0x31505053
	// pythonBlobEnd is the end of the engine's initial memory, less room for the allocator's last record.
	pythonBlobEnd = 8<<20 - 1<<16
	// pythonLibrary is the folder of the library inside the engine. No script has a path that begins with it.
	pythonLibrary = "sallyport:/"
)

// isPython reports by its name whether a file is a Python script.
func isPython(name string) bool { return strings.EqualFold(filepath.Ext(name), ".py") }

// pythonSource returns a script in Python with the files below its folder that it imports. The text is not parsed here.
func pythonSource(file string, text []byte) (*Source, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: %w: a source file has at most %d KiB", filepath.Base(file), errTooLarge, maxFile>>10)
	}
	entry := filepath.Base(file)
	s := &Source{Entry: entry, Files: []File{{Path: entry, Text: string(text)}}}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	size := len(text)
	for _, name := range pythonImports(root, entry, text) {
		imported, err := readBelow(root, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if size += len(imported); size > maxPythonSources {
			return nil, fmt.Errorf("%w: a script and its imports have at most %d KiB together", errTooLarge, maxPythonSources>>10)
		}
		s.Files = append(s.Files, File{Path: name, Text: string(imported)})
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return s, nil
}

// maxPythonSources bounds the sources of a script in Python together, in bytes: the engine keeps them in its memory.
const maxPythonSources = 2 << 20

// readBelow reads a regular file below a folder, at most maxFile bytes.
func readBelow(root *os.Root, name string) ([]byte, error) {
	name = filepath.FromSlash(name)
	if err := isRegular(root.Stat(name)); err != nil { // before it is opened: opening a pipe would block for ever
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%w: a source file has at most %d KiB", errTooLarge, maxFile>>10)
	}
	return text, err
}

// pythonImport finds the modules of import statements; names in brackets follow the match. It is a guess that costs no
// parser: a name in a text is only one more file to look for. No match begins inside of a part that repeats, or a text
// could be read again for each of its matches.
var pythonImport = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+(\.*[\w.]*)[ \t]+import(?:[ \t]*(\()|[ \t]+([\w., \t*]+)))`)

const (
	// maxNames bounds the names between the brackets of one import statement, in bytes.
	maxNames = 4 << 10
	// maxModules bounds the names of modules in one script and its imports.
	maxModules = 5000
	// maxPackages bounds the packages around a module.
	maxPackages = 16
)

// pythonImports returns the files below the folder that a script imports, directly or through each other, sorted.
func pythonImports(root *os.Root, entry string, text []byte) []string {
	found, looked := map[string]bool{entry: true}, map[string]bool{}
	type source struct {
		name string
		text []byte
	}
	size := 0
	for work := []source{{entry, text}}; len(work) > 0; work = work[1:] {
		if size += len(work[0].text); size > maxPythonSources {
			break // the files found so far are too large together
		}
		for name := range modulesOf(work[0].name, work[0].text) {
			if looked[name] {
				continue
			}
			if looked[name] = true; len(looked) > maxModules {
				break
			}
			for _, file := range filesOf(root, name) {
				if found[file] || len(found) > maxInputs {
					continue
				}
				found[file] = true
				if text, err := readBelow(root, file); err == nil {
					work = append(work, source{file, text})
				}
			}
		}
	}
	delete(found, entry)
	files := make([]string, 0, len(found))
	for file := range found {
		files = append(files, file)
	}
	slices.Sort(files)
	return files
}

// modulesOf yields the paths, without extension, of modules that a file may import.
func modulesOf(file string, text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range pythonImport.FindAllSubmatchIndex(text, -1) {
			group := func(i int) string { return string(text[max(m[2*i], 0):max(m[2*i+1], 0)]) }
			names := group(4)
			if group(3) != "" {
				names = bracketed(text[m[1]:])
			}
			for _, module := range modulesIn(file, group(1), group(2), names) {
				if !yield(module) {
					return
				}
			}
		}
	}
}

// bracketed returns the names up to a bracket, without comments.
func bracketed(text []byte) string {
	var names []byte
	for line := range bytes.Lines(text[:min(len(text), maxNames)]) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		end := bytes.IndexAny(line, "()")
		if end >= 0 {
			line = line[:end]
		}
		if names = append(names, line...); end >= 0 {
			break
		}
	}
	return string(names)
}

// modulesIn returns the modules of one statement: import modules, or from base import names.
func modulesIn(file, modules, base, names string) (all []string) {
	if base == "" {
		for _, name := range words(modules) {
			all = append(all, strings.ReplaceAll(name, ".", "/"))
		}
		return all
	}
	module := strings.TrimLeft(base, ".")
	from := strings.ReplaceAll(module, ".", "/")
	if up := len(base) - len(module); up > 0 {
		from = path.Join(path.Dir(file), strings.Repeat("../", up-1), from)
	}
	all = append(all, from)
	for _, name := range words(names) {
		all = append(all, path.Join(from, name))
	}
	return all
}

// words returns the first word of each part of a list: "a.b as c, d" has a.b and d.
func words(list string) (all []string) {
	for part := range strings.SplitSeq(list, ",") {
		if f := strings.Fields(part); len(f) > 0 {
			all = append(all, f[0])
		}
	}
	return all
}

// filesOf returns the files of a module and of the packages that it is in.
func filesOf(root *os.Root, module string) (files []string) {
	if strings.Count(module, "/") > maxPackages || !filepath.IsLocal(filepath.FromSlash(module)) {
		return nil
	}
	for at := module; at != "." && at != ""; at = path.Dir(at) {
		for _, name := range []string{at + ".py", at + "/__init__.py"} {
			if isSource(root, filepath.FromSlash(name)) {
				files = append(files, name)
			}
		}
	}
	return files
}

// pythonInputs returns the paths of the files that a script in Python imports.
func pythonInputs(file string) []string {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil
	}
	defer root.Close()
	entry := filepath.Base(file)
	text, err := readBelow(root, entry)
	if err != nil {
		return nil
	}
	inputs := pythonImports(root, entry, text)
	for i, name := range inputs {
		inputs[i] = filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
	}
	return inputs
}

// pythonLibraryFiles returns the modules of the library, sorted.
var pythonLibraryFiles = sync.OnceValue(func() (files []File) {
	names, _ := fs.Glob(pythonFiles, "python/library/*.py") // sorted; the pattern is valid
	for _, name := range names {
		text, _ := pythonFiles.ReadFile(name)
		files = append(files, File{Path: pythonLibrary + path.Base(name), Text: string(text)})
	}
	return files
})

// pythonModule returns the engine with a data segment of the script and the library. The script itself comes first.
func (s *Source) pythonModule() ([]byte, error) {
	files := make([]File, 1, len(s.Files))
	for _, f := range s.Files {
		switch {
		case f.Path == s.Entry:
			files[0] = f
		case strings.HasPrefix(f.Path, pythonLibrary):
			return nil, fmt.Errorf("%s is no path of a script", f.Path)
		default:
			files = append(files, f)
		}
	}
	if files[0].Path == "" {
		return nil, fmt.Errorf("%s is not among the sources", s.Entry)
	}
	blob := pythonBlob(append(files, pythonLibraryFiles()...))
	if len(blob) > pythonBlobEnd-pythonBlobAt {
		return nil, errors.New("the sources are " + errTooLarge.Error())
	}
	return addSegment(pythonEngine, pythonBlobAt, blob)
}

// pythonBlob returns files as the engine reads them: magic, number of files, size of the rest, two sizes each, then the
// paths and texts, each with a NUL.
func pythonBlob(files []File) []byte {
	var sizes, texts []byte
	for _, f := range files {
		sizes = binary.LittleEndian.AppendUint32(sizes, uint32(len(f.Path)))
		sizes = binary.LittleEndian.AppendUint32(sizes, uint32(len(f.Text)))
		texts = append(append(texts, f.Path...), 0)
		texts = append(append(texts, f.Text...), 0)
	}
	blob := binary.LittleEndian.AppendUint32(nil, pythonBlobMagic)
	blob = binary.LittleEndian.AppendUint32(blob, uint32(len(files)))
	blob = binary.LittleEndian.AppendUint32(blob, uint32(len(sizes)+len(texts)))
	return append(append(blob, sizes...), texts...)
}
