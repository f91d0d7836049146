package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	ident "github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

func newExplain(std stdio) *cobra.Command {
	var q explaining
	c := &cobra.Command{
		Use:   "explain PLUGIN EFFECT [DIR]",
		Short: "report whether a plugin may perform an effect, and the line that decides",
		Long: `Report whether a plugin may perform an effect, and the line of the configuration that decides.
EFFECT is written as in refusals: 'GET https://example.com/x', 'read ~/work/a', 'write ~/work/a', 'store a value'.
The effect is not performed and the plugin is not loaded. Links of a path are followed. DIR is the folder that
plugins are served from, which no grant reaches.

Exit code 1: the effect is denied, or needs the operator's consent.`,
		Args: words(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args[2:]))
			if err != nil {
				return err
			}
			if q.as != "" {
				if q.caller, err = q.callerFlags.caller(s, q.as); err != nil {
					return err
				}
			} else if len(q.groups)+len(q.scopes) > 0 {
				return ui.Hint(errors.New("--group and --scope are of a caller"), "--as PRINCIPAL names it")
			}
			q.plugin, q.act = args[0], args[1]
			return explain(c.Context(), std.out, s, q)
		},
	}
	c.Flags().StringVar(&q.tool, "tool", "", "in a call of this `tool`")
	c.Flags().StringVar(&q.arguments, "args", "", "with these arguments, a `JSON` object")
	c.Flags().StringVar(&q.as, "as", "", "in a call of this `principal`, as the audit log shows it")
	q.add(c)
	return c
}

// explaining is one question about an effect.
type explaining struct {
	callerFlags
	plugin, act     string
	tool, arguments string
	as              string // the principal; "" is nobody in particular
	caller          ident.Identity
}

// explained is the decision on one effect.
type explained struct {
	hostfuncs.Explanation
	plugin string
	listed bool         // the plugin is in the configuration
	open   bool         // some lines depend on arguments that were not given
	others bool         // some lines are for some callers, and none was given
	answer *store.Grant // an answer that allows the effect; nil if none
}

// explain prints the decision on one effect.
func explain(ctx context.Context, w io.Writer, s *settings.Settings, q explaining) error {
	plugin, arguments := q.plugin, q.arguments
	if arguments != "" {
		if _, err := jsonraw.ParseObject([]byte(arguments)); err != nil {
			return ui.Hint(fmt.Errorf("the arguments are no JSON object: %w", err), `write them as one word, such as '{"name":"value"}'`)
		}
	}
	i := slices.IndexFunc(s.Plugins, func(p settings.Plugin) bool { return p.Name == plugin })
	p := settings.Plugin{Name: plugin, Grants: grant.NewSet().Under(s.Ceiling)}
	if i >= 0 {
		p = s.Plugins[i]
	}
	gates := host.Gates(s)
	defer gates.Close()
	under := func(grants *grant.Set) (hostfuncs.Explanation, error) {
		policy := gates.Plugin(hostfuncs.Plugin{Name: p.Name, Grants: grants, Workspace: p.Workspace})
		return policy.Explain(hostfuncs.Call{
			Principal: cmp.Or(q.caller.Principal, "cli"), Roles: q.caller.Roles(),
			Entry: grant.Entry{Kind: "tool", Name: q.tool}, Values: grant.ArgumentValues(json.RawMessage(arguments)),
		}, q.act)
	}
	found, err := under(p.Grants)
	if err != nil {
		return err
	}
	x := explained{Explanation: found, plugin: plugin, listed: i >= 0, open: p.Grants.ForAll().Lines().Varies() && arguments == "", others: p.Grants.Lines().NamesCallers() && q.as == ""}
	if !x.Allowed {
		x.answer, err = answerThatAllows(ctx, s, p, q.as, under)
	}
	if err != nil {
		return err
	}
	err = printExplanation(w, s, x)
	if q.as != "" {
		printLimits(w, s.File, &p, q.caller)
	}
	return err
}

// answerThatAllows returns an answer that allows the effect, for one principal, or if as is "" for any; nil if none.
func answerThatAllows(ctx context.Context, s *settings.Settings, p settings.Plugin, as string, under func(*grant.Set) (hostfuncs.Explanation, error)) (*store.Grant, error) {
	kept := questionsOf(s)
	defer kept.Close()
	answers, err := kept.Grants(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		line, err := grant.ParseLine(a.Line)
		if a.Plugin != p.Name || as != "" && a.Principal != as || err != nil {
			continue // of a different plugin, or not a single line
		}
		if x, err := under(p.Grants.With(line)); err == nil && x.Allowed {
			return &a, nil
		}
	}
	return nil, nil
}

// printExplanation prints the decision; exit code 1 if the effect is not allowed.
func printExplanation(w io.Writer, s *settings.Settings, x explained) error {
	if a := x.answer; a != nil {
		how := ui.Until(a.Expires)
		if a.Once {
			how = "once, " + how
		}
		fmt.Fprintf(w, "allowed: %s\n  by the answer %s: %s\n  %s, for %s, as %s\n", ui.Line(x.Effect), a.ID, ui.Line(a.Line), how, ui.Caller(a.Principal), a.Digest)
		return nil
	}
	if !x.listed {
		fmt.Fprintf(w, "the configuration has no plugin %q: it may do nothing\n", x.plugin)
	}
	where := ""
	if x.At > 0 {
		where = fmt.Sprintf("  %s:%d: %s\n", s.File, x.At, ui.Line(x.Line))
		if x.Filled != "" {
			where += fmt.Sprintf("  in this call: %s\n", ui.Line(x.Filled))
		}
	}
	if x.Leads != "" {
		where = fmt.Sprintf("  which is: %s\n", ui.Line(x.Leads)) + where
	}
	if x.Allowed {
		only := ""
		if x.Reason != "" {
			only = ": " + x.Reason
		}
		fmt.Fprintf(w, "allowed: %s%s\n%s", ui.Line(x.Effect), only, where)
		return nil
	}
	verdict := "refused"
	if x.Asks {
		verdict = "asks"
	}
	fmt.Fprintf(w, "%s: %s: %s\n%s", verdict, ui.Line(x.Effect), ui.Line(x.Reason), where)
	if x.Hint != "" {
		fmt.Fprintf(w, "to allow it: %s\n", ui.Line(host.GrantCommand(s, x.plugin, x.Hint, true)))
	}
	if x.open {
		fmt.Fprintf(w, "lines with {args…} or for: count only with --tool and --args\n")
	}
	if x.others {
		fmt.Fprintf(w, "lines with who: count only with --as PRINCIPAL\n")
	}
	return exitCode(exitTool)
}
