package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/cases"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/script"
)

func newDev(std stdio) *cobra.Command {
	var lines []string
	c := &cobra.Command{
		Use:   "dev FILE|DIR",
		Short: "work on a plugin: load it whenever it is saved, run its cases, and call its tools",
		Long: `Work on a plugin. It is loaded whenever it or a file that it imports is saved, its cases run if there are some (see
sallyport test), and a line calls a tool:

  hello {"name": "Ada"}

The empty line lists the tools, and the end of input ends the command. A version that cannot be loaded is reported with
its place, and the one before it goes on. A denial is printed with the line that would allow it: give that
with --grant.

DIR is the folder of one plugin; with a Makefile, make builds it first. Clients are for serve, which loads saved files
too.`,
		Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			std.detach(s)
			d := &development{settings: s, std: std, path: args[0], grants: lines, files: map[string]seen{}}
			return d.run(c.Context(), every(c.Context(), lookAgain))
		},
	}
	c.Flags().StringArrayVar(&lines, "grant", nil, "allow this `line`, such as 'fs: read ~/work/**'; repeat the flag for more lines")
	return c
}

// lookAgain is the time between two looks at the files.
const lookAgain = 250 * time.Millisecond

// every sends until ctx is done.
func every(ctx context.Context, d time.Duration) <-chan struct{} {
	ticks := make(chan struct{})
	go func() {
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			select {
			case <-ctx.Done():
				return
			case ticks <- struct{}{}:
			}
		}
	}()
	return ticks
}

// development is the work on one plugin.
type development struct {
	settings *settings.Settings
	std      stdio
	path     string // the file, or the folder that has it
	grants   []string

	copies  string       // a folder for copies of the loaded versions, which go on when the file has changed
	version int          // the number of copies
	file    string       // that was loaded last
	copied  string       // its copy
	loaded  *localClient // nil before the first version that loads
	files   map[string]seen
	sources string // the state of the files when they were looked at
}

// run loads the plugin, again after each change that is seen at a tick, and calls its tools, until the input ends.
func (d *development) run(ctx context.Context, ticks <-chan struct{}) (err error) {
	if d.copies, err = os.MkdirTemp("", "sallyport-dev-"); err != nil {
		return err
	}
	defer func() {
		if d.loaded != nil {
			err = errors.Join(err, closeWithin(drain, d.loaded.close))
		}
		err = errors.Join(err, os.RemoveAll(d.copies))
	}()
	next := make(chan struct{})
	lines := linesOf(ctx, d.std.in, next)
	d.reload(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			d.reload(ctx)
		case line, more := <-lines:
			if !more {
				return nil
			}
			d.reload(ctx) // a call gets what is saved by now
			d.command(ctx, strings.TrimSpace(line))
			select {
			case next <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// linesOf sends the lines of the input. It reads one only after next, since a call may ask at the same terminal. It ends
// with the input, or with the process.
func linesOf(ctx context.Context, in io.Reader, next <-chan struct{}) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// reload builds and loads the plugin if its files have changed, and runs its cases.
func (d *development) reload(ctx context.Context) {
	now := d.look()
	if now == d.sources {
		return
	}
	d.sources = now // what is saved from here on is seen at the next tick
	if err := d.load(ctx); err != nil {
		d.complain(err)
		return
	}
	d.listTools(ctx)
	if _, err := os.Stat(cases.Beside(d.file)); err == nil {
		outcomes, err := runCases(ctx, d.settings, d.std, d.copied, cases.Beside(d.file), d.grants)
		if err == nil {
			err = printOutcomes(d.std.out, outcomes)
		}
		d.complain(err)
	}
}

// complain prints an error that has not been printed yet.
func (d *development) complain(err error) {
	var printed exitCode
	if err != nil && !errors.As(err, &printed) {
		ui.Complain(d.std.err, err)
	}
}

// load replaces the loaded plugin, unless the new version fails.
func (d *development) load(ctx context.Context) error {
	file, err := d.build(ctx)
	if err != nil {
		return err
	}
	copied, err := d.copyOf(file)
	if err != nil {
		return err
	}
	c, err := onePlugin{file: copied, grants: d.grants}.connect(ctx, d.settings, d.std)
	if err != nil {
		return err
	}
	if d.loaded != nil {
		d.complain(d.loaded.close(ctx))
	}
	d.loaded, d.file, d.copied = c, file, copied
	return nil
}

// copyOf copies a plugin file: a script with all that it imports.
func (d *development) copyOf(file string) (string, error) {
	var text []byte
	var err error
	if script.Is(file) {
		text, _, err = script.Read(file)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return "", err
	}
	d.version++
	name := filepath.Base(file)
	if script.Is(file) {
		name = strings.TrimSuffix(name, filepath.Ext(name)) + ".wasm"
	}
	dir := filepath.Join(d.copies, strconv.Itoa(d.version))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, name), os.WriteFile(filepath.Join(dir, name), text, 0o600)
}

// build returns the file of the plugin. In a folder with a Makefile it runs make.
func (d *development) build(ctx context.Context) (file string, err error) {
	info, err := os.Stat(d.path)
	if err != nil || !info.IsDir() {
		return d.path, err
	}
	if _, err := os.Stat(filepath.Join(d.path, "Makefile")); err == nil {
		if err := d.makeAll(ctx); err != nil {
			return "", err
		}
	}
	return pluginIn(d.path)
}

// maxMade bounds the runs of make for one change.
const maxMade = 4

// makeAll runs make until it leaves the files as they were: one that was saved while make ran may not be in its result.
func (d *development) makeAll(ctx context.Context) error {
	for range maxMade {
		cmd := exec.CommandContext(ctx, "make", "-s", "-C", d.path)
		cmd.Stdout, cmd.Stderr = d.std.err, d.std.err
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("make: %w", err)
		}
		before := d.sources
		if d.sources = d.look(); d.sources == before {
			break
		}
	}
	return nil
}

// pluginIn returns the one plugin of a folder: its script, or else its .wasm file.
func pluginIn(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var scripts, modules []string
	for _, e := range entries {
		switch name := e.Name(); {
		case !e.Type().IsRegular():
		case script.Is(name):
			scripts = append(scripts, filepath.Join(dir, name))
		case filepath.Ext(name) == ".wasm":
			modules = append(modules, filepath.Join(dir, name))
		}
	}
	if len(scripts) == 0 {
		scripts = modules
	}
	if len(scripts) != 1 {
		return "", ui.Hint(fmt.Errorf("%s has %s, and dev works on one", ui.Line(dir), ui.Count(len(scripts), "plugin")), "name the file: sallyport dev FILE")
	}
	return scripts[0], nil
}

// maxLooked bounds the files of a folder whose changes are seen.
const maxLooked = 2000

// look returns the state of the files that the plugin is made of, as a text to compare.
func (d *development) look() string {
	info, err := os.Stat(d.path)
	if err != nil {
		return err.Error()
	}
	var files []string
	switch {
	case info.IsDir():
		files = sourcesIn(d.path)
	case script.Is(d.path):
		files = append([]string{d.path, cases.Beside(d.path)}, script.Inputs(d.path)...)
	default:
		files = []string{d.path, cases.Beside(d.path)}
	}
	var b strings.Builder
	for _, file := range files {
		if sum, ok := d.digestOf(file); ok {
			fmt.Fprintf(&b, "%s %x\n", file, sum)
		}
	}
	return b.String()
}

// seen is a file when it was read last.
type seen struct {
	size     int64
	modified time.Time
	digest   [sha256.Size]byte
}

// digestOf returns the digest of a file's bytes. It reads the file again if its size or its time changed.
func (d *development) digestOf(path string) (digest [sha256.Size]byte, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return digest, false
	}
	if last := d.files[path]; last.size == info.Size() && last.modified.Equal(info.ModTime()) {
		return last.digest, true
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return digest, false
	}
	digest = sha256.Sum256(data)
	d.files[path] = seen{size: info.Size(), modified: info.ModTime(), digest: digest}
	return digest, true
}

// sourcesIn returns the files below a folder, without hidden ones and those of packages and builds.
func sourcesIn(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		switch {
		case err != nil || len(files) >= maxLooked:
			return fs.SkipAll
		case path != dir && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "target", "build"}, name)):
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	return files
}

// command runs a line of the author: a tool with its arguments.
func (d *development) command(ctx context.Context, line string) {
	tool, arguments, _ := strings.Cut(line, " ")
	switch arguments = strings.TrimSpace(arguments); {
	case d.loaded == nil:
		fmt.Fprintln(d.std.err, "no version of the plugin could be loaded yet")
		return
	case tool == "":
		d.listTools(ctx)
		return
	case arguments == "":
		arguments = "{}"
	}
	if _, err := jsonraw.ParseObject([]byte(arguments)); err != nil {
		d.complain(ui.Hint(fmt.Errorf("the arguments are no JSON object: %w", err), `write %s {"name": "value"}`, ui.Line(tool)))
		return
	}
	d.complain(d.loaded.callTool(ctx, d.settings, d.std, onePlugin{file: d.file, text: true}, tool, arguments))
}

// listTools prints the tools that are loaded.
func (d *development) listTools(ctx context.Context) {
	none := func(context.Context, json.RawMessage) (answers, bool, error) { return answers{}, false, nil }
	r, err := d.loaded.request(ctx, "tools/list", requestParams(nil, "{}"), none)
	if err != nil || r.Err != nil {
		d.complain(err)
		return
	}
	var names []string
	tools, _ := jsonraw.Elements(jsonraw.Get(r.Body, "result", "tools")) // the server wrote it
	for _, tool := range tools {
		name, _ := jsonraw.String(jsonraw.Get(tool, "name"))
		names = append(names, ui.Line(name))
	}
	fmt.Fprintf(d.std.out, "loaded %s: %s\n", ui.Line(d.file), strings.Join(names, ", "))
}
