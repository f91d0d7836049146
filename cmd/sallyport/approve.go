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
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

func newApprove(std stdio) *cobra.Command {
	var reject, all, asJSON bool
	c := &cobra.Command{
		Use:   "approve PLUGIN [DIR]",
		Short: "show the changes of a plugin that is held, and approve it",
		Long: `Show the changes of a plugin that is held, and approve it: its code, imports and
wants, and the definitions of its tools, word by word. New tools are a line each, and long lists are counted; --all
prints everything. With record: in the plugin's section, its recorded calls are run again with the new bytes and the
recorded answers, and what they would do differently is shown; nothing of that leaves this machine.

The answer is read from the terminal that the command was started at, and from nowhere else.

Exit code 1: the answer was no, or nothing waits for one.`,
		Args: words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args[1:]))
			if err != nil {
				return err
			}
			if asJSON {
				return printChanges(c.Context(), s, std, args[0])
			}
			return approve(c.Context(), s, std, args[0], reject, all)
		},
	}
	c.Flags().BoolVar(&reject, "reject", false, "ask whether it is to be refused for good")
	c.Flags().BoolVar(&all, "all", false, "show every difference in full, however many there are")
	c.Flags().BoolVar(&asJSON, "json", false, "print the changes as JSON, and ask nothing")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// changes are the differences of a plugin that is held, as JSON.
type changes struct {
	Plugin   string            `json:"plugin"`
	File     string            `json:"file"`
	Before   string            `json:"before,omitempty"` // digest
	After    string            `json:"after"`
	Rejected bool              `json:"rejected,omitempty"`
	Terms    []change          `json:"terms"`
	Effects  *recording.Report `json:"effects"` // null without recorded calls
}

// change is a lock.Change, as JSON.
type change struct {
	What   string `json:"what"`
	Entry  string `json:"entry,omitempty"`
	Path   string `json:"path,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// printChanges prints the changes of a plugin that is held.
func printChanges(ctx context.Context, s *settings.Settings, std stdio, name string) error {
	v, err := reviewOf(ctx, s, std, name)
	if err != nil {
		return err
	}
	c, err := changesOf(ctx, s, v)
	if err != nil {
		return err
	}
	return ui.WriteJSON(std.out, c)
}

// changesOf returns the changes of reviewed bytes, with those of their effects.
func changesOf(ctx context.Context, s *settings.Settings, v *registry.Review) (c changes, err error) {
	c = changes{Plugin: v.Name, File: v.File, Before: v.Before.Digest, After: v.After.Digest, Rejected: v.Rejected, Terms: []change{}}
	for _, one := range lock.Difference(v.Before, v.After) {
		c.Terms = append(c.Terms, change(one))
	}
	if v.Before.Digest != "" && v.Before.Digest != v.After.Digest {
		c.Effects, err = host.Trial(ctx, s, v, host.TrialTime)
	}
	return c, err
}

// approve asks the operator about one plugin and records the answer.
func approve(ctx context.Context, s *settings.Settings, std stdio, name string, reject, all bool) error {
	v, err := reviewOf(ctx, s, std, name)
	if errors.Is(err, registry.ErrNothingWaits) {
		fmt.Fprintln(std.out, ui.Line(err.Error()))
		return exitCode(exitTool)
	}
	if err != nil {
		return err
	}
	var text strings.Builder
	review.Print(&text, v, all)
	if err := printEffects(ctx, &text, s, v, all); err != nil {
		return err
	}
	question := fmt.Sprintf("may %s serve with these bytes?", ui.Line(name))
	if reject {
		question = fmt.Sprintf("refuse these bytes of %s for good?", ui.Line(name))
	}
	yes, err := confirmFirst(ctx, text.String(), question)
	if err != nil {
		return err
	}
	return record(ctx, std.out, s, v, yes, reject)
}

// printEffects writes how the effects of the recorded calls differ with the reviewed bytes. New plugins have none.
func printEffects(ctx context.Context, w io.Writer, s *settings.Settings, v *registry.Review, all bool) error {
	if v.Before.Digest == "" || v.Before.Digest == v.After.Digest {
		return nil
	}
	report, err := host.Trial(ctx, s, v, host.TrialTime)
	if err == nil {
		review.PrintEffects(w, report, all)
	}
	return err
}

// reviewOf reviews one plugin of a folder.
func reviewOf(ctx context.Context, s *settings.Settings, std stdio, name string) (*registry.Review, error) {
	v, err := host.Review(ctx, s, logging.For(s, std.err), name)
	if errors.Is(err, registry.ErrNoPlugin) {
		err = fmt.Errorf("%w in %s", err, s.Text("dir"))
		if s.Source("dir") == settings.FromFlag {
			return nil, ui.Hint(err, "sallyport list %s names those that are there", shellword.Quoted(s.Text("dir")))
		}
		return nil, ui.Hint(err, "name the folder that is served: sallyport approve %s DIR", name)
	}
	return v, err
}

// confirm asks a yes-or-no question at the terminal.
func confirm(ctx context.Context, text, question string) (bool, error) {
	t, err := ui.OpenTerminal()
	if err != nil {
		return false, ui.Hint(err, "a person answers this, at a terminal: nothing else that starts this command can")
	}
	defer t.Close()
	return t.Confirm(ctx, ui.Fit(text), question)
}

// confirmFirst is confirm before anything was changed, which its error says of a question that a signal ended.
func confirmFirst(ctx context.Context, text, question string) (bool, error) {
	yes, err := confirm(ctx, text, question)
	if ctx.Err() != nil {
		return false, errors.New("interrupted: nothing was changed")
	}
	return yes, err
}

// record applies the operator's decision and writes it to the audit log.
func record(ctx context.Context, w io.Writer, s *settings.Settings, v *registry.Review, yes, reject bool) error {
	if !yes {
		fmt.Fprintln(w, "nothing was changed")
		return exitCode(exitTool)
	}
	err := host.Change(s, func() error { return host.Decide(ctx, s, v, !reject) }, host.Decided(consent.ByTerminal, v, !reject))
	if err != nil {
		return err
	}
	if reject {
		serves := "the approved bytes serve"
		if v.Before.Digest == "" {
			serves = "nothing of it serves"
		}
		_, err := fmt.Fprintf(w, "%s: these bytes are refused, and %s\n", ui.Line(v.Name), serves)
		return err
	}
	fmt.Fprintf(w, "%s is approved: hosts that run take it over\n", ui.Line(v.Name))
	return carry(ctx, w, s, v)
}

// carry asks whether answers for the previous digest hold for the new one too. Without a yes they are deleted.
func carry(ctx context.Context, w io.Writer, s *settings.Settings, v *registry.Review) error {
	answers, err := host.Answers(ctx, s, v)
	if err != nil || len(answers) == 0 {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s for the bytes before:\n", ui.Count(len(answers), "answer"))
	for _, g := range answers {
		ui.Indent(&text, host.Answer(g))
	}
	yes, err := confirm(ctx, text.String(), "are they to hold for the new bytes too?")
	if err != nil {
		return err
	}
	if err := host.Carry(ctx, s, v, yes, consent.ByTerminal, host.NoteOnce(s)); err != nil {
		return err
	}
	if !yes {
		fmt.Fprintln(w, "they are forgotten, and asked again")
		return nil
	}
	fmt.Fprintln(w, "they hold for the new bytes")
	return nil
}
