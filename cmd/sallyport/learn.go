package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant/infer"
)

func newLearn(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "learn PLUGIN",
		Short: "print the fewest grants that cover the performed and denied effects of a plugin's calls",
		Long: `Print the fewest grants that cover the performed and denied effects of a plugin's calls, each with the first call
that needed it. Calls are in the audit log; they are noted in full while the plugin has learn: true in the
configuration, with the names of arguments where an effect followed them. Of other calls only what was refused is
known. What a call that succeeded was refused is a comment, and so is what no line can or should allow.

Nothing is granted: read the lines, and put those that you agree with into the configuration.`,
		Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return printLearnt(std.out, s, args[0])
		},
	}
}

// printLearnt prints the lines in the form of the configuration.
func printLearnt(w io.Writer, s *settings.Settings, plugin string) error {
	l, err := readLearnt(s, plugin)
	if err != nil {
		return err
	}
	needs := infer.Merge(l.needs, l.places, l.plugin.Grants)
	if len(needs) == 0 && len(l.never) == 0 {
		err := fmt.Errorf("no call of plugin %q needed anything that the audit log knows of", plugin)
		if !l.plugin.Learn {
			return ui.Hint(err, "write learn: true under the plugin, use it, and run this again")
		}
		return err
	}
	if len(needs) > 0 {
		fmt.Fprintf(w, "plugins:\n  %s:\n    grants:\n", ui.Line(plugin))
	}
	for _, n := range needs {
		printNeed(w, n)
	}
	printNever(w, l)
	if !l.plugin.Learn {
		fmt.Fprintln(w, "# only refusals are known, since the plugin has no learn: true")
	}
	return nil
}

// printNever prints the denials for which no line is suggested, by reason.
func printNever(w io.Writer, l *learnt) {
	for _, reason := range slices.Sorted(maps.Keys(l.never)) {
		n := l.never[reason]
		fmt.Fprintf(w, "# no line is suggested for %s", ui.Line(n.effect))
		if n.more > 0 {
			fmt.Fprintf(w, ", and %d more", n.more)
		}
		fmt.Fprintf(w, ": %s\n", ui.Line(reason))
	}
	if l.others > 0 {
		fmt.Fprintf(w, "# nor for %s for other reasons: sallyport audit show tells each\n", ui.Count(l.others, "refusal"))
	}
}

// printNeed prints a line in YAML. A line that no call needed to succeed is commented out.
func printNeed(w io.Writer, n infer.Need) {
	mark := ""
	if n.Spare {
		mark = "# "
	}
	fmt.Fprintf(w, "      # %s\n", ui.Line(reasonFor(n)))
	for i, line := range writtenAs(n.Line) {
		lead := "- "
		if i > 0 {
			lead = "  "
		}
		fmt.Fprintf(w, "      %s%s%s\n", mark, lead, ui.Line(line))
	}
}

// writtenAs formats a line as YAML: a learnt "within" option on its own line, other lines quoted where needed.
func writtenAs(line string) []string {
	head, places, found := strings.Cut(line, " {within: ")
	if !found || !strings.HasPrefix(line, "net: ") {
		if strings.HasPrefix(line, `"`) {
			return []string{line} // quoted already
		}
		return []string{grant.Quote(line)}
	}
	return []string{head, "within: " + strings.TrimSuffix(places, "}")}
}

// reasonFor describes the calls that needed a line.
func reasonFor(n infer.Need) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{n.Used, "used"}, {n.Tried, "tried by a dry run"}, {n.Refused, "refused"}} {
		if p.n > 0 {
			parts = append(parts, p.what+" "+ui.Count(p.n, "time"))
		}
	}
	text := strings.Join(parts, ", ")
	if n.Spare {
		text += " in calls that succeeded without it"
	}
	text += "; first by call " + n.Call
	if n.Tool != "" {
		text += " of " + n.Tool
	}
	return text
}
