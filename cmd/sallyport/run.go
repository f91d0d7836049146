package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The exit codes of every subcommand.
const (
	exitOK    = 0
	exitTool  = 1 // a tool answered isError, or a question was answered no
	exitError = 2 // wrong words, a bad file, or the host could not do it
)

// stdio is what a run reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// exitCode is an error that has been printed already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// A hintError says what to type next.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// hint gives err a line that says what to do.
func hint(err error, format string, args ...any) error {
	return &hintError{err: err, hint: fmt.Sprintf(format, args...)}
}

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, std stdio) int {
	root := newRoot(std)
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	return report(std.err, root.ExecuteContext(ctx))
}

// report prints err in the program's one voice and chooses the exit code.
func report(w io.Writer, err error) int {
	var code exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(w, "sallyport: %s\n", printableLines(err.Error()))
	var h *hintError
	if errors.As(err, &h) {
		fmt.Fprintf(w, "hint: %s\n", printableLines(h.hint))
	}
	return exitError
}

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:           "sallyport",
		Short:         "serve WebAssembly plugins to MCP clients, each held to what it was granted",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentFlags().String("config", "", "configuration `file`; the default is sallyport/sallyport.yaml in your configuration folder")
	root.PersistentFlags().String("state", "", "`folder` for tokens, caches and the log")
	root.PersistentFlags().String("log-level", "", "trace, debug, info, warn or error")
	root.AddCommand(
		newServe(std), newList(std), newInspect(std), newCall(std), newPack(std),
		newConfig(std), newClientConfig(std), newToken(std),
	)
	return root
}

// version is the module's version, or the revision that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
