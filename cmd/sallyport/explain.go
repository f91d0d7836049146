package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/argument"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

func newExplain(std stdio) *cobra.Command {
	var tool, arguments string
	c := &cobra.Command{
		Use:   "explain PLUGIN EFFECT [DIR]",
		Short: "say whether a plugin may do something, and which line decides",
		Long: `Say whether a plugin may do something, and which line of the configuration decides.
EFFECT is written as in refusals: 'GET https://example.com/x', 'read ~/work/a', 'write ~/work/a', 'store a value'.
Nothing is done and the plugin is not loaded; of a path it is looked where links lead. DIR is the folder that
plugins are served from, which no grant reaches.

Exit code 1: it may not.`,
		Args: words(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args[2:]))
			if err != nil {
				return err
			}
			return explain(std.out, s, args[0], args[1], tool, arguments)
		},
	}
	c.Flags().StringVar(&tool, "tool", "", "in a call of this `tool`")
	c.Flags().StringVar(&arguments, "args", "", "with these arguments, a `JSON` object")
	return c
}

// explain answers for one effect.
func explain(w io.Writer, s *settings.Settings, plugin, act, tool, arguments string) error {
	if arguments != "" {
		if _, err := rawjson.ParseObject([]byte(arguments)); err != nil {
			return voice.Hint(fmt.Errorf("the arguments are no JSON object: %w", err), `write them as one word, such as '{"name":"value"}'`)
		}
	}
	i := slices.IndexFunc(s.Plugins, func(p settings.Plugin) bool { return p.Name == plugin })
	p := settings.Plugin{Name: plugin, Grants: grant.NewSet().Under(s.Ceiling)}
	if i >= 0 {
		p = s.Plugins[i]
	}
	gates := host.Gates(s)
	defer gates.Close()
	policy := gates.Plugin(hostfuncs.Plugin{Name: p.Name, Grants: p.Grants, Workspace: p.Workspace})
	x, err := policy.Explain(hostfuncs.Call{
		Principal: "cli", Entry: grant.Entry{Kind: "tool", Name: tool}, Values: argument.Values(json.RawMessage(arguments)),
	}, act)
	if err != nil {
		return err
	}
	if i < 0 {
		fmt.Fprintf(w, "the configuration has no plugin %q: it may do nothing\n", plugin)
	}
	return printExplanation(w, s, x, p.Grants.Varies() && arguments == "")
}

// printExplanation writes what was found; open says that lines wait for arguments.
func printExplanation(w io.Writer, s *settings.Settings, x hostfuncs.Explanation, open bool) error {
	where := ""
	if x.At > 0 {
		where = fmt.Sprintf("  %s:%d: %s\n", s.File, x.At, voice.Line(x.Line))
		if x.Filled != "" {
			where += fmt.Sprintf("  in this call: %s\n", voice.Line(x.Filled))
		}
	}
	if x.Leads != "" {
		where = fmt.Sprintf("  which is: %s\n", voice.Line(x.Leads)) + where
	}
	if x.Allowed {
		only := ""
		if x.Reason != "" {
			only = ": " + x.Reason
		}
		fmt.Fprintf(w, "allowed: %s%s\n%s", voice.Line(x.Effect), only, where)
		return nil
	}
	fmt.Fprintf(w, "refused: %s: %s\n%s", voice.Line(x.Effect), voice.Line(x.Reason), where)
	if x.Hint != "" {
		fmt.Fprintf(w, "to allow it: %s\n", voice.Line(x.Hint))
	}
	if open {
		fmt.Fprintf(w, "lines with {args…} or for: count only with --tool and --args\n")
	}
	return exitCode(exitTool)
}
