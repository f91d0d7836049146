package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
)

// The exit codes of every subcommand.
const (
	exitOK    = 0
	exitTool  = 1 // a tool answered isError, or a question was answered no
	exitError = 2 // wrong words, a bad file, or the host could not do it
)

// lastWords is how long what was said last may take to be read.
const lastWords = time.Second

// stdio is what a run reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// exitCode is an error that has been printed already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, std stdio) int {
	screen := logging.NewScreen(std.err)
	defer screen.Close(lastWords)
	std.err = screen
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
	voice.Complain(w, err)
	return exitError
}

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:           "sallyport",
		Short:         "serve WebAssembly plugins to MCP clients, held to what they were granted",
		Version:       fmt.Sprintf("%s (%s, %s/%s)", host.Version(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentFlags().String("config", "", "configuration `file`; sallyport config names it")
	root.PersistentFlags().String("state", "", "`folder` for tokens, caches and the log")
	root.PersistentFlags().String("log-level", "", "`level` of the log: trace, debug, info, warn, error")
	root.AddCommand(
		newServe(std), newList(std), newInspect(std), newCall(std), newPack(std),
		newConfig(std), newExplain(std), newApprove(std), newLearn(std), newClientConfig(std), newToken(std), newSecret(std), newAudit(std),
		newConsole(std), newPending(std), newGrant(std), newAnswer(std), newAllow(std), newDeny(std), newGrants(std), newRevoke(std), newImport(std), newCompile(std), newCompileModule(std),
	)
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpCommand(newHelp())
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// newHelp is cobra's own help with an error for what is no command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "print how a command is used",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(c.Root(), args)
			}
			return found.Help()
		},
	}
}

// noCommand refuses a word where a command should be, and names one that is written much alike.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if args[0] == "" {
		return voice.Hint(errors.New("a command is empty"), "%s --help lists the commands", c.CommandPath())
	}
	if c.SuggestionsMinimumDistance = 2; len(args[0]) < 4 {
		c.SuggestionsMinimumDistance = 1 // "dev" is not a slip for "deny"
	}
	far := func(name string) bool { return name[0] != args[0][0] } // "test" is not a slip for "list"
	if near := slices.DeleteFunc(c.SuggestionsFor(args[0]), far); len(near) > 0 {
		return voice.Hint(fmt.Errorf("unknown command %q", args[0]), "did you mean %s %s?", c.CommandPath(), near[0])
	}
	return voice.Hint(fmt.Errorf("unknown command %q", args[0]), "%s --help lists the commands", c.CommandPath())
}

// words refuses fewer than least or more than most arguments and says how the command is written.
func words(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return voice.Hint(fmt.Errorf("%s is missing", missing(c, len(args))), "%s", c.UseLine())
		case len(args) > most:
			return voice.Hint(fmt.Errorf("one argument too many: %q", args[most]), "%s", c.UseLine())
		}
		return nil
	}
}

// missing is the n-th argument of a command, as its usage names it.
func missing(c *cobra.Command, n int) string {
	if all := strings.Fields(c.Use); n+1 < len(all) {
		return strings.Trim(all[n+1], "[]")
	}
	return "an argument"
}

// wrongFlag says where the flags of a command are listed.
func wrongFlag(c *cobra.Command, err error) error {
	return voice.Hint(err, "%s --help lists the flags", c.CommandPath())
}
