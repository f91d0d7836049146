package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/review"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/terminal"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

func newApprove(std stdio) *cobra.Command {
	var reject, all bool
	c := &cobra.Command{
		Use:   "approve PLUGIN [DIR]",
		Short: "show what is new about a plugin that is held, and ask whether it may serve",
		Long: `Show what is new about a plugin that is held, and ask whether it may serve: its code, what it imports and
wants, and what it says of its tools, word by word. New tools are a line each, and long lists are counted; --all
prints everything. The answer is read from the terminal that the command was started at, and from nowhere else.

Exit code 1: the answer was no, or nothing waits for one.`,
		Args: words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args[1:]))
			if err != nil {
				return err
			}
			return approve(c.Context(), s, std, args[0], reject, all)
		},
	}
	c.Flags().BoolVar(&reject, "reject", false, "ask whether it is to be refused for good")
	c.Flags().BoolVar(&all, "all", false, "show every difference in full, however many there are")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// approve asks about one plugin and writes the answer down.
func approve(ctx context.Context, s *settings.Settings, std stdio, name string, reject, all bool) error {
	v, err := reviewOf(ctx, s, std, name)
	if errors.Is(err, registry.ErrNothingWaits) {
		fmt.Fprintln(std.out, voice.Line(err.Error()))
		return exitCode(exitTool)
	}
	if err != nil {
		return err
	}
	l, err := host.OpenLock(s, lock.Options{})
	if err != nil {
		return err
	}
	var text strings.Builder
	review.Print(&text, v, all)
	question := fmt.Sprintf("may %s serve with these bytes?", voice.Line(name))
	if reject {
		question = fmt.Sprintf("refuse these bytes of %s for good?", voice.Line(name))
	}
	yes, err := confirm(ctx, text.String(), question)
	if err != nil {
		return err
	}
	return record(ctx, std.out, l, v, yes, reject, noteOnce(s))
}

// reviewOf loads the folder, with nothing trusted that is not in the lock file, and looks at one plugin.
func reviewOf(ctx context.Context, s *settings.Settings, std stdio, name string) (*registry.Review, error) {
	l, err := host.OpenLock(s, lock.Options{Locked: true, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, host.Options{Settings: s, Logger: logging.Quiet(s, logging.For(s, std.err)), Lock: l})
	if err != nil {
		return nil, err
	}
	defer closeWithin(drain, h.Close)
	if err := h.Registry.Ready(ctx); err != nil {
		return nil, err
	}
	v, err := h.Registry.Review(name)
	if errors.Is(err, registry.ErrNoPlugin) {
		return nil, voice.Hint(fmt.Errorf("%w in %s", err, s.Text("dir")), "name the folder that is served: sallyport approve %s DIR", name)
	}
	return v, err
}

// confirm asks at the terminal.
func confirm(ctx context.Context, text, question string) (bool, error) {
	t, err := terminal.Open()
	if err != nil {
		return false, voice.Hint(err, "a person answers this, at a terminal: nothing else that starts this command can")
	}
	defer t.Close()
	return t.Confirm(ctx, voice.Fit(text), question)
}

// record writes an answer down.
func record(ctx context.Context, w io.Writer, l *lock.Lock, v *registry.Review, yes, reject bool, note func(operator.Answered) error) error {
	answered := operator.Answered{By: operator.ByTerminal, Plugin: v.Name, Digest: v.After.Digest, What: "to serve with these bytes"}
	switch {
	case yes && reject:
		if err := l.Reject(ctx, v.Name, v.After.Digest); err != nil {
			return err
		}
		serves := "what was approved before serves"
		if v.Before.Digest == "" {
			serves = "nothing of it serves"
		}
		fmt.Fprintf(w, "%s: these bytes are refused, and %s\n", voice.Line(v.Name), serves)
		answered.Answer = "reject"
		return note(answered)
	case yes:
		if err := v.Approve(ctx, l); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s is approved: hosts that run take it over\n", voice.Line(v.Name))
		answered.Answer = "approve"
		return note(answered)
	}
	fmt.Fprintln(w, "nothing was changed")
	return exitCode(exitTool)
}
