package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// questionsOf opens the store of questions and answers of this state folder, shared by its processes. The caller closes
// it.
func questionsOf(s *settings.Settings) *store.Store {
	return host.OpenStore(s)
}

func newPending(std stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "pending",
		Short: "print the open questions of plugins",
		Args:  words(0, 0),
		RunE: withQuestions(func(ctx context.Context, d *desk, _ []string) error {
			all, err := d.Store.Questions(ctx)
			if err != nil {
				return err
			}
			forms, err := elicit.List(ctx, d.Store)
			if err != nil {
				return err
			}
			if asJSON {
				return ui.WriteJSON(std.out, append(questionsJSON(all), formsJSON(forms)...))
			}
			return printQuestions(std.out, d, all, forms)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// desk holds the state of the commands that show and answer questions.
type desk struct {
	*consent.Answers
	folder string // the state folder
	flags  string // settings.Flags
}

// command returns a command line with the flags of these settings: command("allow ID").
func (d *desk) command(words string) string {
	return strings.TrimSpace("sallyport " + words + " " + d.flags)
}

// withQuestions runs a command on the store of its settings. Answers are written to the audit log.
func withQuestions(do func(ctx context.Context, d *desk, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		s, err := loadHost(c, "")
		if err != nil {
			return err
		}
		kept := questionsOf(s)
		defer kept.Close()
		return do(c.Context(), &desk{
			Answers: &consent.Answers{Store: kept, By: consent.ByTerminal, Note: host.NoteOnce(s)},
			folder:  s.Text("state"), flags: s.Flags(),
		}, args)
	}
}

func printQuestions(w io.Writer, d *desk, all []store.Question, forms []elicit.Form) error {
	for _, q := range all {
		fmt.Fprintln(w, ui.Fit(fmt.Sprintf("%s  %s wants to %s", q.ID, ui.Line(q.Plugin), ui.Line(q.Effect))))
		if q.Why != "" {
			ui.Indent(w, "it says: "+q.Why)
		}
		if q.Want != "" && q.Want != q.Line {
			ui.Indent(w, "it announced "+q.Want+", which --want --always allows")
		}
		ui.Indent(w, fmt.Sprintf("for %s, %s", ui.Caller(q.Principal), ago(q.Asked)))
	}
	for _, f := range forms {
		fmt.Fprintf(w, "%s  %s asks you, in its own words:\n%s\n", f.ID, ui.Line(f.Plugin), strings.Join(formLines(f), "\n"))
		ui.Indent(w, fmt.Sprintf("for %s, %s", ui.Caller(f.Principal), ago(f.Asked)))
	}
	if len(all)+len(forms) == 0 {
		_, err := fmt.Fprintf(w, "nothing waits for an answer in %s\n", ui.Line(d.folder))
		return err
	}
	how := []string{d.command("console")}
	if len(all) > 0 {
		how = append(how, d.command("allow ID"), d.command("deny ID"))
	}
	if len(forms) > 0 {
		how = append(how, d.command("answer ID FIELD=VALUE…"))
	}
	_, err := fmt.Fprintf(w, "\n%s\n", ui.Line(strings.Join(how, ", ")))
	return err
}

// ago formats the time since at for a person.
func ago(at time.Time) string {
	switch d := time.Since(at); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// questionJSON is the JSON form of a question or a form.
type questionJSON struct {
	ID        string    `json:"id"`
	Plugin    string    `json:"plugin"`
	Digest    string    `json:"digest"`
	Principal string    `json:"principal"`
	Effect    string    `json:"effect,omitempty"`
	Line      string    `json:"line,omitempty"`
	Want      string    `json:"want,omitempty"`
	Why       string    `json:"why,omitempty"`
	Asked     time.Time `json:"asked"`

	// Asks and Fields are set for a form, in the plugin's words.
	Asks   string         `json:"asks,omitempty"`
	URL    string         `json:"url,omitempty"`
	Fields []elicit.Field `json:"fields,omitempty"`
}

func formsJSON(all []elicit.Form) (out []questionJSON) {
	for _, f := range all {
		out = append(out, questionJSON{
			ID: f.ID, Plugin: f.Plugin, Digest: f.Digest, Principal: f.Principal, Asked: f.Asked,
			Asks: f.Message(), URL: f.URL(), Fields: f.Fields(),
		})
	}
	return out
}

func questionsJSON(all []store.Question) []questionJSON {
	out := []questionJSON{}
	for _, q := range all {
		out = append(out, questionJSON{
			ID: q.ID, Plugin: q.Plugin, Digest: q.Digest, Principal: q.Principal, Effect: q.Effect, Line: q.Line, Want: q.Want, Why: q.Why, Asked: q.Asked,
		})
	}
	return out
}

func newGrants(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "grants",
		Short: "print the answers in force, allowed and denied, and their ends",
		Long: `Print the answers in force, allowed and denied, and their ends.
The grants of sallyport.yaml are not among them.`,
		Args: words(0, 0),
		RunE: withQuestions(func(ctx context.Context, d *desk, _ []string) error {
			allowed, err := d.Store.Grants(ctx)
			if err != nil {
				return err
			}
			refused, err := d.Store.Refused(ctx)
			if err != nil {
				return err
			}
			return printAnswers(std.out, d, allowed, refused)
		}),
	}
}

func printAnswers(w io.Writer, d *desk, allowed []store.Grant, refused []store.Question) error {
	for _, g := range allowed {
		how := ui.Until(g.Expires)
		if g.Once {
			how = "once, " + how
		}
		fmt.Fprintln(w, ui.Fit(fmt.Sprintf("%s  %s may %s", g.ID, ui.Line(g.Plugin), ui.Line(g.Line))))
		ui.Indent(w, fmt.Sprintf("%s, for %s, as %s", how, ui.Caller(g.Principal), g.Digest))
	}
	for _, q := range refused {
		fmt.Fprintln(w, ui.Fit(fmt.Sprintf("%s  %s may not %s", q.ID, ui.Line(q.Plugin), ui.Line(q.Effect))))
		ui.Indent(w, fmt.Sprintf("%s, for %s, as %s", ui.Until(q.Expires), ui.Caller(q.Principal), q.Digest))
	}
	if len(allowed)+len(refused) == 0 {
		_, err := fmt.Fprintf(w, "nothing was answered in %s\n", ui.Line(d.folder))
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s takes an answer back\n", ui.Line(d.command("revoke ID")))
	return err
}
