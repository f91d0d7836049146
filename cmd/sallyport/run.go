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
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
)

// The exit codes of every subcommand.
const (
	exitOK    = 0
	exitTool  = 1 // a result with isError, or a question answered with no
	exitError = 2 // wrong arguments, an invalid file, or a failure of the host
)

// lastWords is the time for the last output to be read before exit.
const lastWords = time.Second

// stdio holds the standard streams of a run.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// detach keeps an unread standard error from blocking the host, and with it the deadlines of calls.
func (std stdio) detach(s *settings.Settings) {
	if screen, ok := std.err.(*logging.Screen); ok {
		screen.Detach(s.Bool("log.json"))
	}
}

// flush lets the output on standard error precede that on standard output.
func (std stdio) flush() {
	if screen, ok := std.err.(*logging.Screen); ok {
		screen.Flush(lastWords)
	}
}

// exitCode is an error that has been printed already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, std stdio) int {
	screen := logging.NewScreen(std.err)
	defer screen.Close(lastWords)
	std.err = screen
	root := newRoot(std)
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil && err != nil && err.Error() == context.Canceled.Error() { // a signal, and nothing to tell besides
		err = errors.New("interrupted")
	}
	return report(std.err, err)
}

// report prints err and returns the exit code.
func report(w io.Writer, err error) int {
	var code exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	ui.Complain(w, err)
	return exitError
}

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:           "sallyport",
		Short:         "serve WebAssembly plugins to MCP clients, limited to their grants",
		Version:       fmt.Sprintf("%s (%s, %s/%s, %s)", host.Version(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH, host.Engine()),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.PersistentFlags().String("config", "", "configuration `file`; sallyport config names it")
	root.PersistentFlags().String("state", "", "`folder` for tokens, caches and the log")
	root.PersistentFlags().String("log-level", "", "`level` of the log: trace, debug, info, warn, error")
	root.AddCommand(
		newServe(std), newList(std), newAdd(std), newSearch(std), newUpdate(std), newRemove(std), newInspect(std), newCall(std), newPack(std), newPush(std), newWrap(std), newBuild(std), newNew(std), newDev(std), newTest(std),
		newConfig(std), newDoctor(std), newExplain(std), newCan(std), newApprove(std), newLearn(std), newClientConfig(std), newToken(std), newSecret(std), newTrust(std), newAudit(std), newUsage(std),
		newConsole(std), newPending(std), newGrant(std), newAnswer(std), newAllow(std), newDeny(std), newGrants(std), newRevoke(std), newImport(std), newCompile(std), newPrune(std), newBackup(std), newCompileModule(std), newBundleScript(std), newMan(),
	)
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpCommand(newHelp())
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// newHelp is cobra's help command with an error for unknown commands.
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

// noCommand returns an error for an unknown command, with a hint that names a similar one.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if args[0] == "" {
		return ui.Hint(errors.New("a command is empty"), "%s --help lists the commands", c.CommandPath())
	}
	if c.SuggestionsMinimumDistance = 2; len(args[0]) < 4 {
		c.SuggestionsMinimumDistance = 1 // "dev" is not a typing error of "deny"
	}
	far := func(name string) bool { return name[0] != args[0][0] } // "test" is not a typing error of "list"
	if near := slices.DeleteFunc(c.SuggestionsFor(args[0]), far); len(near) > 0 {
		return ui.Hint(fmt.Errorf("unknown command %q", args[0]), "did you mean %s %s?", c.CommandPath(), near[0])
	}
	return ui.Hint(fmt.Errorf("unknown command %q", args[0]), "%s --help lists the commands", c.CommandPath())
}

// words returns a check for least to most arguments; its error shows the command's usage.
func words(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return ui.Hint(fmt.Errorf("%s is missing", missing(c, len(args))), "%s", c.UseLine())
		case len(args) > most:
			return ui.Hint(fmt.Errorf("one argument too many: %q", args[most]), "%s", c.UseLine())
		}
		return nil
	}
}

// missing returns the name of the n-th argument in the command's usage.
func missing(c *cobra.Command, n int) string {
	if all := strings.Fields(c.Use); n+1 < len(all) {
		return strings.Trim(all[n+1], "[]")
	}
	return "an argument"
}

// wrongFlag adds a hint to a flag error.
func wrongFlag(c *cobra.Command, err error) error {
	return ui.Hint(err, "%s --help lists the flags", c.CommandPath())
}
