package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

func newAudit(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "verify and print the audit log",
		Args:  noCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAuditVerify(std), newAuditShow(std), newAuditTail(std), newAuditExport(std))
	return c
}

func newAuditVerify(std stdio) *cobra.Command {
	var receipt string
	var keys, marks []string
	var all bool
	c := &cobra.Command{
		Use:   "verify [FILE…]",
		Short: "find lines that were changed, taken out, moved or cut off",
		Long: `Find lines of the audit log that were changed, taken out, moved or cut off.

With store in the configuration, the database has the last line of each chain, so that a disk which was lost or set back
is found out too.

With files it verifies those, of one host or of several, in any order: exported lines, or the files of a log. Each
host's key is audit/key in its state folder; without --key it is that of this state folder. A key proves that a holder
of it wrote the lines: compare its fingerprint, as sha256sum prints it, with the one that you noted on the host. Lines
that were invented with the key have other marks than the receipts of before: name some with --mark.

With --heads the files are those of all hosts of the database: chains and lines that they lack are found.

Exit code 1: something was found. 2: there is no log. A log that ends in the middle may be a crash or a cut; it
cannot be told.`,
		Args: words(0, maxAuditFiles),
		RunE: func(c *cobra.Command, files []string) error {
			s, err := loadSettings(c, "")
			switch {
			case err != nil:
				return err
			case all && s.Text("store") == "":
				return errors.New("--heads needs store in the configuration")
			case len(files) > 0 && receipt == "":
				return verifyFiles(c.Context(), std, s, keys, marks, files, all)
			case len(files) > 0 || len(keys) > 0 || len(marks) > 0 || all:
				return errors.New("--key, --mark and --heads need files, and --receipt takes none")
			case receipt != "":
				return prove(std, s.State().Audit(), receipt)
			}
			return verifyAudit(c.Context(), std, s)
		},
	}
	c.Flags().StringVar(&receipt, "receipt", "", "prove one line: the `mark` in a receipt's \"audit\"")
	c.Flags().StringArrayVar(&marks, "mark", nil, "a `mark` that has to be in the files: of a receipt, or one noted before; may be repeated")
	c.Flags().BoolVar(&all, "heads", false, "the files are those of all hosts of the database")
	c.Flags().StringArrayVar(&keys, "key", nil, "key `file` of a host whose lines are in the files; once for each host")
	return c
}

func verifyAudit(ctx context.Context, std stdio, s *settings.Settings) error {
	dir := s.State().Audit()
	own, others, unread := host.RecordedHeads(ctx, s)
	r, err := audit.Verify(dir, own...)
	if unread != nil {
		r.Problems = append(r.Problems, audit.Problem{What: fmt.Sprintf("the heads in the database cannot be read, so that a disk that was set back is not found out: %v", unread)})
	}
	if err == nil && r.Chains == 0 && len(r.Problems) == 0 {
		return ui.Hint(fmt.Errorf("there is no audit log in %s: nothing was called yet, or it is gone", dir), "--state names another folder")
	}
	if err != nil {
		return err
	}
	err = tellReport(std, r, func(int) string { return "of this state folder" })
	tellOthers(std.out, others)
	return err
}

// tellOthers prints the other hosts whose heads the database has: one that was lost has no folder to verify.
func tellOthers(w io.Writer, heads []audit.Head) {
	chains, latest := map[string]int{}, map[string]time.Time{}
	for _, h := range heads {
		chains[h.Host]++
		if h.At.After(latest[h.Host]) {
			latest[h.Host] = h.At
		}
	}
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		fmt.Fprintf(w, "not verified here: %s of %s, the last line of %s\n", ui.Count(chains[name], "chain"), ui.Line(name), latest[name].UTC().Format("2006-01-02 15:04:05 UTC"))
	}
}

// tellReport prints the outcome of a verification. whose describes a key of r.Signed.
func tellReport(std stdio, r audit.Report, whose func(i int) string) error {
	for _, p := range r.Problems {
		fmt.Fprintln(std.out, ui.Line(p.String()))
	}
	fmt.Fprintf(std.out, "%s in %s, a chain for each process\n", ui.Count(int(r.Lines), "line"), ui.Count(r.Chains, "chain"))
	for i, s := range r.Signed {
		fmt.Fprintf(std.out, "%s in %s signed with the key %s %s\n", ui.Count(int(s.Lines), "line"), ui.Count(s.Chains, "chain"), s.Key, whose(i))
	}
	if len(r.Problems) == 0 {
		fmt.Fprintln(std.out, "whole: no line was changed, taken out, moved or cut off")
	}
	if r.Repeated > 0 {
		fmt.Fprintf(std.out, "%s more than once, unchanged\n", ui.Count(int(r.Repeated), "line"))
	}
	switch open := len(r.Open); {
	case open == 1:
		fmt.Fprintln(std.out, "1 of them has no end: its process runs still, or was killed")
	case open > 1:
		fmt.Fprintf(std.out, "%d of them have no end: their processes run still, or were killed\n", open)
	}
	if len(r.Problems) > 0 {
		return exitCode(exitTool)
	}
	return nil
}

func prove(std stdio, dir, mark string) error {
	line, err := audit.Proves(dir, mark)
	switch {
	case errors.Is(err, audit.ErrNotProven):
		fmt.Fprintln(std.out, ui.Line(err.Error()))
		return exitCode(exitTool)
	case err != nil:
		return err
	}
	fmt.Fprintf(std.out, "%s\n", ui.JSON(line))
	return nil
}

func newAuditShow(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "show CALL",
		Short: "print all that is known of one call",
		Args:  words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return showCall(std, s.State().Audit(), args[0])
		},
	}
}

func showCall(std stdio, dir, id string) error {
	found := false
	err := audit.Read(dir, func(l audit.Line) bool {
		if call, _ := jsonraw.String(jsonraw.Get(l.Text, "call")); call != id {
			return true
		}
		found = true
		var out bytes.Buffer
		if json.Indent(&out, l.Text, "", "  ") == nil {
			fmt.Fprintf(std.out, "%s\n", ui.JSON(out.Bytes()))
		}
		return true // a call that was continued has a line for each run
	})
	if err == nil && !found {
		return ui.Hint(fmt.Errorf("no call %q is in the log", id), "sallyport audit tail lists the last calls; a call is written a second later at most")
	}
	return err
}

func newAuditTail(std stdio) *cobra.Command {
	var n int
	var plugin string
	var asJSON bool
	c := &cobra.Command{
		Use:   "tail",
		Short: "print the effects of the last calls and the operator's answers",
		Args:  words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return tailAudit(std, s.State().Audit(), n, plugin, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the lines as they are kept, with their proofs")
	c.Flags().IntVarP(&n, "lines", "n", 20, "how `many` lines")
	c.Flags().StringVar(&plugin, "plugin", "", "only lines of this `plugin`")
	return c
}

// maxTail is the limit of lines held in memory to print the last ones.
const maxTail = 10_000

// tailAudit prints the last n lines by time, merged from the chains of all processes.
func tailAudit(std stdio, dir string, n int, plugin string, asJSON bool) error {
	var last tail
	if n < 1 {
		return ui.Hint(fmt.Errorf("-n %d prints nothing", n), "write how many lines, such as -n 20")
	}
	last.room = min(n, maxTail)
	open := intents{}
	err := audit.Read(dir, func(l audit.Line) bool {
		name, is := jsonraw.String(jsonraw.Get(l.Text, "plugin"))
		if is && (plugin == "" || name == plugin) && (asJSON || !open.take(l.Text)) {
			last.add(timeIn(l.Text), l.Text)
		}
		return true
	})
	for _, text := range open {
		last.add(timeIn(text), text)
	}
	if err == nil && len(last.lines) == 0 && !asJSON {
		fmt.Fprintln(std.out, nothingIn(dir, plugin))
	}
	for _, l := range last.sorted() {
		if asJSON {
			fmt.Fprintf(std.out, "%s\n", ui.JSON(l.text))
		} else {
			printLine(std.out, l.text)
		}
	}
	return err
}

// intents are the lines of changes without an outcome, by the ID of the change.
type intents map[string][]byte

// take keeps the line of an intent, and drops it at the line of its outcome, which follows in the same chain. It reports
// whether the line is that of an intent.
func (i intents) take(text []byte) bool {
	id, is := jsonraw.String(jsonraw.Get(text, "change"))
	if !is {
		return false
	}
	delete(i, id)
	if event, _ := jsonraw.String(jsonraw.Get(text, "event")); event != consent.Intent {
		return false
	}
	i[id] = bytes.Clone(text)
	return true
}

func timeIn(text []byte) string {
	at, _ := jsonraw.String(jsonraw.Get(text, "at"))
	return at
}

// nothingIn returns the message for an empty result.
func nothingIn(dir, plugin string) string {
	if plugin == "" {
		return "there are no calls in " + ui.Line(dir)
	}
	return "there are no calls of the plugin " + ui.Line(plugin) + " in " + ui.Line(dir)
}
