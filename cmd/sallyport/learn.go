package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/learn"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

func newLearn(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "learn PLUGIN",
		Short: "print the fewest grants that cover what a plugin's calls did and were refused",
		Long: `Print the fewest grants that cover what the calls of a plugin did and were refused, each with the first call
that needed it. Calls are in the audit log; they are noted in full while the plugin has learn: true in the
configuration, with the names of arguments where an effect followed them, and without their values. Of other calls
only what was refused is known.

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

// printLearnt prints the lines as a configuration has them.
func printLearnt(w io.Writer, s *settings.Settings, plugin string) error {
	needs, err := needsOf(auditFolder(s), plugin)
	if err != nil {
		return err
	}
	learning := slices.ContainsFunc(s.Plugins, func(p settings.Plugin) bool { return p.Name == plugin && p.Learn })
	if len(needs) == 0 {
		err := fmt.Errorf("no call of plugin %q needed anything that the audit log knows of", plugin)
		if !learning {
			return hint(err, "write learn: true under the plugin, use it, and run this again")
		}
		return err
	}
	fmt.Fprintf(w, "plugins:\n  %s:\n    grants:\n", printable(plugin))
	for _, n := range learn.Merge(needs) {
		fmt.Fprintf(w, "      # %s\n      - %s\n", printable(reasonFor(n)), printable(n.Line))
	}
	if !learning {
		fmt.Fprintln(w, "# only refusals are known, since the plugin has no learn: true")
	}
	return nil
}

// reasonFor says which call needed a line.
func reasonFor(n learn.Need) string {
	text := fmt.Sprintf("used %d times, refused %d times; first by call %s", n.Used, n.Refused, n.Call)
	if n.Tool != "" {
		text += " of " + n.Tool
	}
	return text
}

// noted is what of a line of the audit log is read.
type noted struct {
	Call, Plugin, Tool string
	Learnt             []hostfuncs.Learnt
	Denials            []hostfuncs.Denial
}

// needsOf reads what a plugin's calls needed, the oldest first within each chain.
func needsOf(dir, plugin string) ([]learn.Need, error) {
	var needs []learn.Need
	err := audit.Read(dir, func(l audit.Line) bool {
		name, ok := rawjson.String(rawjson.Get(l.Text, "plugin"))
		var n noted
		if !ok || name != plugin || json.Unmarshal(l.Text, &n) != nil {
			return true
		}
		needs = append(needs, n.needs()...)
		return true
	})
	return needs, err
}

func (n noted) needs() (needs []learn.Need) {
	for _, l := range n.Learnt {
		needs = append(needs, learn.Need{Line: l.Line, Call: n.Call, Tool: n.Tool, Used: l.Used, Refused: l.Refused})
	}
	if len(n.Learnt) > 0 {
		return needs
	}
	for _, d := range n.Denials {
		if d.Hint != "" {
			needs = append(needs, learn.Need{Line: d.Hint, Call: n.Call, Tool: n.Tool, Refused: d.Count})
		}
	}
	return needs
}
