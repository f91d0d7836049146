package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

func newAnswer(std stdio) *cobra.Command {
	var decline, cancel bool
	c := &cobra.Command{
		Use:   "answer ID [FIELD=VALUE…]",
		Short: "answer a form of a plugin, shown and confirmed at the terminal",
		Long: `Answer a form of a plugin, where the client has no elicitation. sallyport pending lists the forms.
A field that is a list is written once for each of its values; one that is left out has the form's own
value. What you answer goes to the plugin, for one call, and allows it nothing. It is sent when you say so at
the terminal, which is never standard input.

Exit code 1: you said no, and the form still waits.`,
		Args: cobra.MinimumNArgs(1),
		RunE: withQuestions(func(ctx context.Context, d *desk, args []string) error {
			f, err := elicit.Get(ctx, d.Store, args[0])
			if errors.Is(err, store.ErrNotFound) {
				if q, bad := d.Store.Question(ctx, args[0]); bad == nil && !q.Refused {
					return ui.Hint(fmt.Errorf("%s is no form: it is an effect, to allow or to deny", q.ID), "%s allows it, %s refuses it", d.command("allow "+q.ID), d.command("deny "+q.ID))
				}
			}
			if err != nil {
				return noForm(args[0], err)
			}
			action, content, err := answerTo(f, args[1:], decline, cancel)
			if err != nil {
				return err
			}
			if err := agreed(ctx, std, formText(f)+"\n\n"+answerShown(action, content), "send it to the plugin?"); err != nil {
				return err
			}
			if err := elicit.Reply(ctx, d.Store, f.ID, action, content); err != nil {
				return noForm(f.ID, err)
			}
			if _, err := fmt.Fprintf(std.out, "answered: %s\n", f.ID); err != nil {
				return err
			}
			return d.Noted(consent.Form(action, f))
		}),
	}
	c.Flags().BoolVar(&decline, "decline", false, "decline the form")
	c.Flags().BoolVar(&cancel, "cancel", false, "cancel the form, as a user who closes it does")
	return c
}

// answerTo converts the arguments of the answer command to an action and its content.
func answerTo(f elicit.Form, words []string, decline, cancel bool) (action string, content []byte, err error) {
	switch {
	case decline && cancel, (decline || cancel) && len(words) > 0:
		return "", nil, errors.New("write values, or --decline, or --cancel")
	case decline:
		return elicit.Decline, nil, nil
	case cancel:
		return elicit.Cancel, nil, nil
	case f.URL() != "" && len(words) == 0:
		return elicit.Accept, nil, nil
	}
	var values []elicit.Value
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return "", nil, fmt.Errorf("%q is not FIELD=VALUE", word)
		}
		values = append(values, elicit.Value{Name: name, Text: text})
	}
	content, err = f.Fill(values, true)
	if err != nil {
		err = ui.Hint(errors.New(ui.Line(err.Error())), "sallyport pending shows the fields")
	}
	return elicit.Accept, content, err
}

// noForm replaces store.ErrNotFound with an error and a hint that no such form is open.
func noForm(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return ui.Hint(fmt.Errorf("no form %q waits for an answer", id), "sallyport pending lists the open questions")
	}
	return err
}

// bar is the prefix of each line of plugin text.
const bar = "  | "

// formText is the prompt for a form. Plugin text is prefixed with bars, so that it cannot be taken for the program's
// own.
func formText(f elicit.Form) string {
	return fmt.Sprintf("plugin    %s (%s)\nfor       %s, %s\nasks you, in its own words:\n%s",
		ui.Line(f.Plugin), ui.Line(f.Digest), ui.Line(f.Principal), ago(f.Asked), strings.Join(formLines(f), "\n"))
}

func formLines(f elicit.Form) []string {
	var lines []string
	for line := range strings.SplitSeq(f.Message(), "\n") {
		lines = append(lines, ui.Marked(bar, ui.Line(line))...)
	}
	if f.URL() != "" {
		lines = append(lines, ui.Marked(bar, "to open: "+ui.Line(f.URL()))...)
	}
	for _, field := range f.Fields() {
		lines = append(lines, ui.Marked(bar, fieldLine(field))...)
	}
	return lines
}

// fieldLine describes one field: type, choices, default, title and description.
func fieldLine(f elicit.Field) string {
	kind := f.Type
	if f.Format != "" {
		kind += ", " + f.Format
	}
	var choices []string
	for _, c := range f.Choices {
		text := c.Value
		if c.Title != "" && c.Title != c.Value {
			text += " (" + c.Title + ")"
		}
		choices = append(choices, text)
	}
	if choices != nil {
		kind = "one of " + strings.Join(choices, ", ")
		if f.Type == "array" {
			kind = "some of " + strings.Join(choices, ", ")
		}
	}
	if f.Required {
		kind += "; required"
	}
	if f.Default != nil {
		kind += "; " + strings.Join(f.Default, ", ") + " if left out"
	}
	text := f.Name + "=  " + kind
	for _, says := range []string{f.Title, f.Description} {
		if says != "" {
			text += "; " + says
		}
	}
	return ui.Line(text)
}

// answerShown describes the answer to be sent.
func answerShown(action string, content []byte) string {
	switch {
	case action != elicit.Accept:
		return "you answer: " + action
	case content == nil:
		return "you answer: yes, it was opened"
	}
	return "you answer: " + ui.Line(string(content))
}
