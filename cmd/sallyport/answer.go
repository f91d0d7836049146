package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// allowing is the scope and duration of an answer, from the flags of allow.
type allowing struct {
	once, always, want bool
	span               time.Duration
}

func newAllow(std stdio) *cobra.Command {
	var a allowing
	c := &cobra.Command{
		Use:   "allow ID",
		Short: "allow an effect that a plugin asks for, confirmed at the terminal",
		Long: `Allow an effect that a plugin asks for: once, for a time, or always. sallyport pending lists the questions.
The answer is for these bytes of the plugin and this caller, and it is read from the terminal, never from
standard input.

Exit code 1: you said no, and the question still waits.`,
		Args: words(1, 1),
		RunE: withQuestions(func(ctx context.Context, d *desk, args []string) error {
			answer, how, err := a.answer(time.Now())
			if err != nil {
				return err
			}
			return allow(ctx, std, d, args[0], answer, how)
		}),
	}
	c.Flags().BoolVar(&a.once, "once", false, "this one effect, within the hour; the default")
	c.Flags().DurationVar(&a.span, "for", 0, "as often as it likes for this `time`, such as 1h")
	c.Flags().BoolVar(&a.always, "always", false, "until it is revoked, or the plugin's bytes change")
	c.Flags().BoolVar(&a.want, "want", false, "all that the plugin announced, not only this; with --for or --always")
	return c
}

// answer converts the flags to an answer, with its duration as words for the prompt.
func (a *allowing) answer(now time.Time) (answer store.Answer, how string, err error) {
	switch {
	case a.once && (a.always || a.span != 0) || a.always && a.span != 0:
		return answer, "", errors.New("write one of --once, --for and --always")
	case a.span < 0:
		return answer, "", errors.New("--for is a time from now on, such as 1h")
	case a.always:
		return store.Answer{Want: a.want}, "always", nil
	case a.span > 0:
		return store.Answer{Want: a.want, Expires: now.Add(a.span)}, "for " + ui.Span(a.span), nil
	case a.want:
		return answer, "", errors.New("--want allows more than one effect: add --for 1h or --always")
	}
	return store.Answer{Once: true, Expires: now.Add(consent.OnceTime)}, "once", nil
}

func allow(ctx context.Context, std stdio, d *desk, id string, answer store.Answer, how string) error {
	q, err := d.waiting(ctx, id)
	if err != nil {
		return err
	}
	line := q.Line
	if answer.Want {
		if line = q.Want; line == "" {
			return ui.Hint(errors.New("a line of your own asks this, and the plugin announced nothing"), "leave --want out")
		}
	}
	shown := line
	if open := consent.Open(line); open != "" && !answer.Once {
		shown += ", with " + open
	}
	if err := agreed(ctx, std, questionText(q, shown), "allow it "+how+"?"); err != nil {
		return err
	}
	if _, err := d.Allow(ctx, id, answer); err != nil {
		return d.gone(id, err)
	}
	_, err = fmt.Fprintf(std.out, "allowed %s: %s\n", how, ui.Line(line))
	return err
}

func newDeny(std stdio) *cobra.Command {
	var span time.Duration
	c := &cobra.Command{
		Use:   "deny ID",
		Short: "deny an effect that a plugin asks for, confirmed at the terminal",
		Long: `Deny an effect that a plugin asks for. It is not asked again for 30 days, or for the time of --for.

Exit code 1: you said no to that, and the question still waits.`,
		Args: words(1, 1),
		RunE: withQuestions(func(ctx context.Context, d *desk, args []string) error {
			q, err := d.waiting(ctx, args[0])
			if err != nil {
				return err
			}
			if err := agreed(ctx, std, questionText(q, ""), "refuse it?"); err != nil {
				return err
			}
			if err := d.Deny(ctx, q.ID, time.Now().Add(span)); err != nil {
				return d.gone(q.ID, err)
			}
			_, err = fmt.Fprintf(std.out, "refused: %s\n%s takes that back\n", ui.Line(q.Effect), ui.Line(d.command("revoke "+q.ID)))
			return err
		}),
	}
	c.Flags().DurationVar(&span, "for", consent.RefusedTime, "do not ask again for this `time`, such as 24h")
	c.Flags().Lookup("for").DefValue = ui.Span(consent.RefusedTime)
	return c
}

func newRevoke(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "revoke an answer, confirmed at the terminal",
		Long: `Revoke an answer, one that allows or one that denies. sallyport grants lists them. The plugin has to ask for such an
effect again.

A line of grants, such as sallyport grant writes, is no answer: delete it from the file. sallyport config prints the
file and the number of each line.

Exit code 1: you said no.`,
		Args: words(1, 1),
		RunE: withQuestions(func(ctx context.Context, d *desk, args []string) error {
			text, err := d.answerText(ctx, args[0])
			if err != nil {
				return err
			}
			if err := agreed(ctx, std, text, "take it back?"); err != nil {
				return err
			}
			if err := d.Revoke(ctx, args[0]); err != nil {
				return d.noAnswer(args[0], err)
			}
			_, err = fmt.Fprintf(std.out, "taken back: %s\n", args[0])
			return err
		}),
	}
}

// agreed asks for confirmation at the terminal. A no prints that nothing was changed and returns exit code 1.
func agreed(ctx context.Context, std stdio, text, question string) error {
	yes, err := confirmFirst(ctx, text, question)
	if err == nil && !yes {
		fmt.Fprintln(std.out, "nothing was changed")
		err = exitCode(exitTool)
	}
	return err
}

// answerText describes an answer that is about to be revoked.
func (d *desk) answerText(ctx context.Context, id string) (string, error) {
	grants, err := d.Store.Grants(ctx)
	if err != nil {
		return "", err
	}
	for _, g := range grants {
		if g.ID == id {
			return fmt.Sprintf("plugin  %s\nmay     %s", ui.Line(g.Plugin), ui.Line(g.Line)), nil
		}
	}
	q, err := d.Store.Question(ctx, id)
	if err == nil && !q.Refused {
		err = store.ErrNotFound
	}
	if err != nil {
		return "", d.noAnswer(id, err)
	}
	return fmt.Sprintf("plugin   %s\nmay not  %s", ui.Line(q.Plugin), ui.Line(q.Effect)), nil
}

// noAnswer replaces store.ErrNotFound with an error and a hint that there is no such answer.
func (d *desk) noAnswer(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return ui.Hint(fmt.Errorf("no answer %q in %s", id, d.folder), "%s lists them; --state names another folder", d.command("grants"))
	}
	return err
}

// waiting returns an unanswered question by ID, and an error with a hint if there is none.
func (d *desk) waiting(ctx context.Context, id string) (store.Question, error) {
	q, err := d.Store.Question(ctx, id)
	if err == nil && q.Refused {
		err = store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		if _, bad := elicit.Get(ctx, d.Store, id); bad == nil {
			return q, ui.Hint(fmt.Errorf("%s is a form, which is answered and allows nothing", id), "%s", d.command("answer "+id))
		}
	}
	return q, d.gone(id, err)
}

// gone replaces store.ErrNotFound with an error and a hint that no such question is open.
func (d *desk) gone(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return ui.Hint(fmt.Errorf("no question %q waits in %s", id, d.folder), "%s lists the open ones, %s the answers; --state names another folder",
			d.command("pending"), d.command("grants"))
	}
	return err
}

// questionText is the prompt for a question. Plugin text is escaped, on separate lines.
func questionText(q store.Question, line string) string {
	text := fmt.Sprintf("plugin    %s (%s)\nwants to  %s\n", ui.Line(q.Plugin), ui.Line(q.Digest), ui.Line(q.Effect))
	if q.Why != "" {
		text += "it says   " + ui.Line(q.Why) + "\n"
	}
	text += fmt.Sprintf("for       %s, %s", ui.Line(q.Principal), ago(q.Asked))
	if line != "" {
		text += "\ngrants    " + ui.Line(line)
	}
	return text
}
