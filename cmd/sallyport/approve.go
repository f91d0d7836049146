package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/terminal"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

func newApprove(std stdio) *cobra.Command {
	var reject bool
	c := &cobra.Command{
		Use:   "approve PLUGIN [DIR]",
		Short: "show what is new about a plugin that is held, and ask whether it may serve",
		Long: `Show what is new about a plugin that is held, and ask whether it may serve: its code, what it imports and
wants, and what it says of its tools, word by word. The answer is read from the terminal that the command was
started at, and from nowhere else.

Exit code 1: the answer was no, or nothing waits for one.`,
		Args: words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args[1:]))
			if err != nil {
				return err
			}
			return approve(c.Context(), s, std, args[0], reject)
		},
	}
	c.Flags().BoolVar(&reject, "reject", false, "ask whether it is to be refused for good")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// approve asks about one plugin and writes the answer down.
func approve(ctx context.Context, s *settings.Settings, std stdio, name string, reject bool) error {
	v, err := review(ctx, s, std, name)
	if errors.Is(err, registry.ErrNothingWaits) {
		fmt.Fprintln(std.out, printable(err.Error()))
		return exitCode(exitTool)
	}
	if err != nil {
		return err
	}
	l, err := openLock(s, lock.Options{})
	if err != nil {
		return err
	}
	var text strings.Builder
	printReview(&text, v)
	question := fmt.Sprintf("may %s serve with these bytes?", printable(name))
	if reject {
		question = fmt.Sprintf("refuse these bytes of %s for good?", printable(name))
	}
	yes, err := confirm(ctx, text.String(), question)
	if err != nil {
		return err
	}
	return record(ctx, std.out, l, v, yes, reject, noteOnce(s))
}

// review loads the folder, with nothing trusted that is not in the lock file, and looks at one plugin.
func review(ctx context.Context, s *settings.Settings, std stdio, name string) (*registry.Review, error) {
	l, err := openLock(s, lock.Options{Locked: true, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	h, err := openHostWith(ctx, s, quiet(s, newLogger(std.err, s.Text("log.level"), s.Bool("log.json"))), l)
	if err != nil {
		return nil, err
	}
	defer closeWithin(drain, h.close)
	if err := h.registry.Ready(ctx); err != nil {
		return nil, err
	}
	v, err := h.registry.Review(name)
	if errors.Is(err, registry.ErrNoPlugin) {
		return nil, hint(fmt.Errorf("%w in %s", err, s.Text("dir")), "name the folder that is served: sallyport approve %s DIR", name)
	}
	return v, err
}

// confirm asks at the terminal.
func confirm(ctx context.Context, text, question string) (bool, error) {
	t, err := terminal.Open()
	if err != nil {
		return false, hint(err, "a person answers this, at a terminal: nothing else that starts this command can")
	}
	defer t.Close()
	return t.Confirm(ctx, text, question)
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
		fmt.Fprintf(w, "%s: these bytes are refused, and %s\n", printable(v.Name), serves)
		answered.Answer = "reject"
		return note(answered)
	case yes:
		if err := v.Approve(ctx, l); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s is approved: hosts that run take it over\n", printable(v.Name))
		answered.Answer = "approve"
		return note(answered)
	}
	fmt.Fprintln(w, "nothing was changed")
	return exitCode(exitTool)
}

// printReview writes what an operator is asked about.
func printReview(w io.Writer, v *registry.Review) {
	fmt.Fprintf(w, "%s (%s)\n", printable(v.Name), printable(v.File))
	if v.Rejected {
		fmt.Fprintln(w, "these bytes were rejected before")
	}
	before := v.Before.Digest
	if before == "" {
		before = "nothing was approved yet"
	}
	if before == v.After.Digest {
		fmt.Fprintf(w, "  code  %s, as it was approved\n", before)
	} else {
		fmt.Fprintf(w, "  code  - %s\n        + %s\n", before, v.After.Digest)
	}
	changes := lock.Difference(v.Before, v.After)
	for _, c := range changes {
		printChange(w, c)
	}
	if len(changes) == 0 {
		fmt.Fprintln(w, "  it imports, wants and offers the same: only the code is another, which can do other things with its grants")
	}
}

// printChange writes one change: a text that is in both versions word by word.
func printChange(w io.Writer, c lock.Change) {
	switch listed := c.What == "import" || c.What == "want"; {
	case listed && c.After == "":
		fmt.Fprintf(w, "  - %s %s\n", c.What, printable(c.Before))
		return
	case listed:
		fmt.Fprintf(w, "  + %s %s\n", c.What, printable(c.After))
		return
	case c.After == "" && !strings.Contains(c.What, ": "): // all of a definition
		fmt.Fprintf(w, "  - %s\n", printable(c.What))
		return
	case c.After == "":
		fmt.Fprintf(w, "  - %s\n", printable(c.What))
		indented(w, c.Before)
		return
	case c.Before == "":
		fmt.Fprintf(w, "  + %s\n", printable(c.What))
		indented(w, c.After)
		return
	}
	fmt.Fprintf(w, "    %s\n", printable(c.What))
	var marked []string
	for _, p := range lock.Words(c.Before, c.After) {
		marked = append(marked, mark(p))
	}
	indented(w, strings.Join(marked, " "))
}

// mark writes a piece so that it is told apart without colours. What reads as a mark in a plugin's own text gets a
// blank: no new words are to look like old ones.
func mark(p lock.Piece) string {
	text := strings.NewReplacer("[-", "[ -", "-]", "- ]", "{+", "{ +", "+}", "+ }").Replace(p.Text)
	switch p.Kind {
	case lock.Gone:
		return "[-" + text + "-]"
	case lock.New:
		return "{+" + text + "+}"
	}
	return around(text)
}

// around is the beginning and the end of a text that is the same in both versions.
func around(text string) string {
	const words = 12
	all := strings.Fields(text)
	if len(all) <= 2*words+1 {
		return text
	}
	return strings.Join(all[:words], " ") + " […] " + strings.Join(all[len(all)-words:], " ")
}
