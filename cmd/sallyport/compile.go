package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// newCompileModule is the hidden command that package compiler runs as a child process.
func newCompileModule(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:    host.CompileCommand + " CACHE",
		Short:  "compile the module on standard input",
		Hidden: true,
		Args:   words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			fine, err := host.CompileModule(c.Context(), args[0], std.in, std.out)
			if !fine && err == nil {
				return exitCode(host.CompileRefused)
			}
			return err
		},
	}
}

// newBundleScript is the hidden command that reads and expands scripts as a child process.
func newBundleScript(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:    host.BundleCommand + " STEP [FILE]",
		Short:  "run one step of reading the script on standard input",
		Hidden: true,
		Args:   words(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			fine, err := host.Bundle(args, std.in, std.out)
			if !fine && err == nil {
				return exitCode(host.CompileRefused)
			}
			return err
		},
	}
}

func newCompile(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "compile [DIR]",
		Short: "compile the plugins of a folder, so that first calls are fast",
		Args:  words(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args))
			if err != nil {
				return err
			}
			if err := checkDir(s.Text("dir")); err != nil {
				return err
			}
			return compileFolder(c.Context(), s, std)
		},
	}
}

// compileFolder compiles every module of the folder, in parallel on all processors, and prints a line for each.
func compileFolder(ctx context.Context, s *settings.Settings, std stdio) error {
	files, err := modules(s.Text("dir"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return printEmpty(std.out, s.Text("dir"))
	}
	if err := userfile.MakeFolder(s.Text("state")); err != nil {
		return err
	}
	engine, err := runtime.NewEngine(ctx, &runtime.EngineOptions{
		CacheDir: s.State().Compiled(),
		Compiler: host.CompileInChild(s.State().Compiled(), slog.New(slog.DiscardHandler)), // each file has its own line of output
		Host:     host.Functions(),
	})
	if err != nil {
		return err
	}
	p := progress{out: std.out, of: len(files)}
	work := make(chan string)
	var wg sync.WaitGroup
	for range min(goruntime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for file := range work {
				begin := time.Now()
				p.tell(file, compileFile(ctx, engine, file), time.Since(begin))
			}
		})
	}
	for _, file := range files {
		work <- file
	}
	close(work)
	wg.Wait()
	if err := engine.Close(ctx); err != nil {
		return err
	}
	if p.failed > 0 {
		return fmt.Errorf("%d of %d plugins cannot be compiled", p.failed, len(files))
	}
	return nil
}

// modules lists the .wasm files and the scripts of a folder; none if the folder does not exist.
func modules(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.EqualFold(filepath.Ext(e.Name()), ".wasm") || script.Is(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

func compileFile(ctx context.Context, engine *runtime.Engine, file string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	wasm, _, err := toolfile.Read(file)
	if err != nil {
		return err
	}
	if wasm, err = script.Expand(wasm); err != nil {
		return err
	}
	m, err := engine.Compile(ctx, wasm)
	if err != nil {
		return err
	}
	return m.Close()
}

// progress prints a line for each compiled file. It is safe for concurrent use.
type progress struct {
	out io.Writer
	of  int

	mu     sync.Mutex
	done   int
	failed int
}

func (p *progress) tell(file string, err error, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	outcome := took.Round(time.Millisecond).String()
	if err != nil {
		p.failed++
		outcome = "failed: " + ui.Line(err.Error())
	}
	fmt.Fprintf(p.out, "%d/%d %s %s\n", p.done, p.of, ui.Line(filepath.Base(file)), outcome)
}
