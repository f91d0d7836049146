package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	// maxFile bounds one source file, in bytes: the parser needs stack for nested code.
	maxFile = 512 << 10
	// maxSources bounds the sources of a script together, in bytes.
	maxSources = 16 << 20
	// maxFiles bounds their number; a large library has two thousand.
	maxFiles = 5000
	// maxBundle bounds the bundle, which every instance parses once, in bytes.
	maxBundle = 3 << 20
	// maxTime bounds one run of the bundler; usual ones take 5 to 200 ms.
	maxTime = 20 * time.Second
)

// bundle is JavaScript of one script with everything it imports, and its source map.
type bundle struct {
	text, sourceMap []byte
}

// libraryModule is the name by which scripts import the library.
const libraryModule = "sallyport"

// libraryNames are the exports of that module.
var libraryNames = []string{"tool", "resource", "prompt", "plugin", "want", "text", "image", "audio", "link", "embed", "kv", "secrets",
	"elicit", "sample", "roots", "callTool", "config", "log", "progress", "ask", "toolsChanged", "resourcesChanged", "promptsChanged",
	"resourceUpdated", "release", "ToolError", "HostError"}

// options are those of both runs of the bundler. Nothing outside of the sources changes the result: no tsconfig.json, no
// environment.
func options(dir string, plugin api.Plugin) api.BuildOptions {
	return api.BuildOptions{
		Bundle: true, Write: false, Metafile: true, Outfile: filepath.Join(dir, "script.js"), AbsWorkingDir: dir,
		Format: api.FormatESModule, Platform: api.PlatformNeutral, Target: api.ES2023,
		MainFields: []string{"module", "main"}, Conditions: []string{"module"},
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Charset: api.CharsetUTF8,
		Define:      map[string]string{"process.env.NODE_ENV": `"production"`},
		TsconfigRaw: "{}", LogLevel: api.LogLevelSilent, LegalComments: api.LegalCommentsNone, TreeShaking: api.TreeShakingTrue,
		Plugins: []api.Plugin{plugin},
	}
}

// run runs the bundler, at most for maxTime.
func run(o api.BuildOptions) (api.BuildResult, error) {
	c, failed := api.Context(o)
	if failed != nil {
		return api.BuildResult{}, problem(failed.Errors)
	}
	defer c.Dispose()
	late := time.AfterFunc(maxTime, c.Cancel)
	defer late.Stop()
	r := c.Rebuild()
	if len(r.Errors) > 0 {
		return r, problem(r.Errors)
	}
	return r, nil
}

// problem returns the first error of the bundler, as file:line:column: text.
func problem(all []api.Message) error {
	m := all[0]
	text := strings.ReplaceAll(strings.TrimSuffix(m.Text, "."), `"`+libraryModule+":"+libraryModule+`"`, `"`+libraryModule+`"`)
	if name, ok := strings.CutPrefix(text, `Could not resolve "`); ok {
		name = strings.TrimSuffix(name, `"`)
		text = fmt.Sprintf("there is no %q", name)
		if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "/") {
			text += ": it is looked for in node_modules beside the script, and modules of Node itself are not offered"
		}
	}
	if len(all) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	if m.Location == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s:%d:%d: %s", m.Location.File, m.Location.Line, m.Location.Column+1, text)
}

// collector gathers the files that the bundler reads: those below the folder of the script, and no others.
type collector struct {
	dir  string
	root *os.Root

	mu    sync.Mutex
	files map[string]*File
	size  int
}

// collect returns a script with everything it imports.
func collect(file string, text []byte) (*Source, error) {
	dir, err := folderOf(file)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := &collector{dir: dir, root: root, files: map[string]*File{}}
	entry := filepath.Base(file)
	if err := c.add(entry, text); err != nil {
		return nil, fmt.Errorf("%s: %w", entry, err)
	}
	o := options(dir, api.Plugin{Name: "files", Setup: c.setup})
	o.Sourcemap = api.SourceMapNone // the bundler would read the map that a comment names
	o.Stdin = &api.StdinOptions{Contents: string(text), ResolveDir: dir, Sourcefile: entry, Loader: loaderOf(entry)}
	r, err := run(o)
	if err != nil {
		return nil, err
	}
	return c.source(entry, r.Metafile)
}

// folderOf returns the folder of a script, without links in its path.
func folderOf(file string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func (c *collector) setup(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: "^" + libraryModule + "$"}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: libraryModule, Namespace: libraryModule}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: libraryModule}, loadLibrary)
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		name, err := filepath.Rel(c.dir, a.Path)
		if err != nil || !filepath.IsLocal(name) {
			return api.OnLoadResult{}, fmt.Errorf("%s lies outside of the folder of the script, and only files below it are read", a.Path)
		}
		name = filepath.ToSlash(name)
		text, err := c.read(name)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		contents := string(text)
		return api.OnLoadResult{Contents: &contents, Loader: loaderOf(name), ResolveDir: filepath.Dir(a.Path)}, nil
	})
}

// loadLibrary returns the module that scripts import: the names of the library, which the engine has as a global.
func loadLibrary(api.OnLoadArgs) (api.OnLoadResult, error) {
	text := fmt.Sprintf("export const {%s} = globalThis[Symbol.for(%q)]", strings.Join(libraryNames, ", "), libraryModule)
	return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
}

// read reads a file below the folder.
func (c *collector) read(name string) ([]byte, error) {
	if isRegular(c.root.Stat(filepath.FromSlash(name))) != nil { // before it is opened: opening a pipe would block for ever
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := c.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return text, c.add(name, text)
}

func (c *collector) add(name string, text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += len(text)
	switch {
	case len(text) > maxFile:
		return fmt.Errorf("%w: a source file has at most %d KiB", errTooLarge, maxFile>>10)
	case c.size > maxSources:
		return fmt.Errorf("%w: a script and its imports have at most %d MiB together", errTooLarge, maxSources>>20)
	case len(c.files) >= maxFiles:
		return fmt.Errorf("%w: a script has at most %d files", errTooLarge, maxFiles)
	}
	if err := checkDepth(text); err != nil {
		return err
	}
	c.files[name] = &File{Path: name, Text: string(text)}
	return nil
}

// metafile is the bundler's account of its inputs.
type metafile struct {
	Inputs map[string]struct {
		Imports []struct {
			Path, Original string
			External       bool
		}
	}
}

// source returns the files that belong to the bundle, and how their imports were resolved.
func (c *collector) source(entry, account string) (*Source, error) {
	var m metafile
	if err := json.Unmarshal([]byte(account), &m); err != nil {
		return nil, err
	}
	s := &Source{Entry: entry}
	for name, in := range m.Inputs {
		f := c.files[name]
		if f == nil {
			continue // the library
		}
		f.Imports = map[string]string{}
		for _, i := range in.Imports {
			if !i.External && i.Original != libraryModule {
				f.Imports[i.Original] = i.Path
			}
		}
		f.Pure = c.isPure(name)
		s.Files = append(s.Files, *f)
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return s, nil
}

// isPure reports whether the package of a file says "sideEffects": false.
func (c *collector) isPure(name string) bool {
	if !strings.HasPrefix(name, "node_modules/") && !strings.Contains(name, "/node_modules/") {
		return false
	}
	for dir := path.Dir(name); dir != "." && path.Base(dir) != "node_modules"; dir = path.Dir(dir) {
		raw, err := c.root.ReadFile(filepath.FromSlash(dir + "/package.json"))
		var p struct {
			Name        string
			SideEffects any
		}
		if err == nil && len(raw) <= maxFile && json.Unmarshal(raw, &p) == nil && p.Name != "" {
			return p.SideEffects == false
		}
	}
	return false
}

// loaderOf returns how the bundler reads a file.
func loaderOf(name string) api.Loader {
	switch strings.ToLower(path.Ext(name)) {
	case ".ts", ".mts", ".cts":
		return api.LoaderTS
	case ".json":
		return api.LoaderJSON
	case ".txt", ".md":
		return api.LoaderText
	}
	return api.LoaderJS
}

// sourceNamespace is that of files in a container.
const sourceNamespace = "source"

// bundle makes one JavaScript module of the sources. It reads no file.
func (s *Source) bundle() (*bundle, error) {
	files := map[string]*File{}
	for i := range s.Files {
		files[s.Files[i].Path] = &s.Files[i]
	}
	if files[s.Entry] == nil {
		return nil, fmt.Errorf("%s is not among the sources", s.Entry)
	}
	dir := filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	o := options(dir, api.Plugin{Name: "sources", Setup: func(b api.PluginBuild) { resolveIn(b, files) }})
	o.EntryPoints = []string{s.Entry}
	r, err := run(o)
	if err != nil {
		return nil, err
	}
	made := &bundle{}
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			made.sourceMap = plainMap(f.Contents)
		} else {
			made.text = f.Contents
		}
	}
	if n := len(made.text); n > maxBundle {
		return nil, fmt.Errorf("%w: the bundle of %s has %d bytes, at most %d are allowed", errTooLarge, s.Entry, n, maxBundle)
	}
	return made, nil
}

// mapComment makes the comments meaningless that name a source map, which the bundler would read wherever it is. Columns
// stay.
var mapComment = strings.NewReplacer("# sourceMappingURL=", "# sourceMappingURL:", "@ sourceMappingURL=", "@ sourceMappingURL:")

// resolveIn makes the bundler find files in a container only.
func resolveIn(b api.PluginBuild, files map[string]*File) {
	b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if a.Path == libraryModule {
			return api.OnResolveResult{Path: libraryModule, Namespace: libraryModule}, nil
		}
		to := a.Path
		if importer := files[a.Importer]; a.Kind != api.ResolveEntryPoint && importer != nil {
			to = importer.Imports[a.Path]
		}
		f := files[to]
		if f == nil {
			return api.OnResolveResult{Path: a.Path, External: true}, nil
		}
		effects := api.SideEffectsTrue
		if f.Pure {
			effects = api.SideEffectsFalse
		}
		return api.OnResolveResult{Path: to, Namespace: sourceNamespace, SideEffects: effects}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: libraryModule}, loadLibrary)
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: sourceNamespace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text := mapComment.Replace(files[a.Path].Text)
		return api.OnLoadResult{Contents: &text, Loader: loaderOf(a.Path)}, nil
	})
	// An import of a pattern, as of `./${name}.json`, is resolved on the disk, past the plugins.
	b.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return api.OnLoadResult{}, fmt.Errorf("%s is not among the sources: an import names one file, and no pattern", a.Path)
	})
}

// plainMap keeps of a source map the members that the library reads, with plain names of files.
func plainMap(raw []byte) []byte {
	var m struct {
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return []byte("{}")
	}
	for i, name := range m.Sources {
		m.Sources[i] = strings.TrimPrefix(name, sourceNamespace+":")
	}
	plain, err := json.Marshal(m)
	if err != nil {
		return []byte("{}")
	}
	return plain
}
