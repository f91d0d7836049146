package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	ident "github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

func newCan(std stdio) *cobra.Command {
	var as callerFlags
	c := &cobra.Command{
		Use:   "can PRINCIPAL TOOL [DIR]",
		Short: "report whether a caller may call a tool, and the rule that decides",
		Long: `Report whether a caller may call a tool, the rule of callers that decides, the grants with who that hold in its
calls, and its entry of limits.for. PRINCIPAL is written as in the audit log: token:ann, stdio:1000, anonymous. TOOL is
the public name. Groups of the section groups apply; those of a sign-in are given by --group and --scope. The folder is
loaded as sallyport list does it, and the tool is not called.

Exit code 1: the caller may not, or there is no such tool.`,
		Args: words(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args[2:]))
			if err != nil {
				return err
			}
			id, err := as.caller(s, args[0])
			if err != nil {
				return err
			}
			if err := checkDir(s.Text("dir")); err != nil {
				return err
			}
			return can(c.Context(), s, std, id, args[1])
		},
	}
	as.add(c)
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	c.Flags().Bool("locked", false, "count the plugins that serve --locked would hold as held")
	return c
}

// callerFlags are the flags with the groups and scopes of a caller's sign-in.
type callerFlags struct{ groups, scopes []string }

func (f *callerFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.groups, "group", nil, "a `group` of the sign-in, repeatable")
	c.Flags().StringArrayVar(&f.scopes, "scope", nil, "a `scope` of the sign-in, repeatable")
}

// caller returns a principal with the groups and scopes of its sign-in.
func (f *callerFlags) caller(s *settings.Settings, principal string) (ident.Identity, error) {
	id, err := ident.New(principal, f.groups, f.scopes)
	if err == nil && s.Auth != nil {
		id.Scopes = s.Auth.WithImplied(id.Scopes)
	}
	return id, err
}

// can prints the decision about one caller and one tool.
func can(ctx context.Context, s *settings.Settings, std stdio, id ident.Identity, name string) error {
	l, err := host.OpenLock(s, lock.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	std.detach(s)
	defer std.flush()
	h, err := host.Open(ctx, host.Options{Settings: s, Logger: logging.Quiet(s, logging.For(s, std.err)), Lock: l})
	if err != nil {
		return err
	}
	defer closeWithin(drain, h.Close)
	if err := h.Registry.Ready(ctx); err != nil {
		return err
	}
	all := h.Registry.Snapshot()
	tool, ok := all.Tool(name)
	if !ok {
		fmt.Fprintf(std.out, "refused: no plugin in %s publishes a tool %s\n", ui.Line(s.Text("dir")), ui.Line(name))
		return exitCode(exitTool)
	}
	_, ok = all.For(id).Tool(name)
	return printCan(std.out, s, id, tool, ok && tool.Lacking(id) == nil)
}

// printCan prints the decision with its rule; exit code 1 for a refusal.
func printCan(w io.Writer, s *settings.Settings, id ident.Identity, tool *catalog.Tool, ok bool) error {
	verdict := "allowed"
	if !ok {
		verdict = "refused"
	}
	why := ""
	if scopes := tool.Lacking(id); scopes != nil {
		why = ": a call needs " + catalog.ScopeNames(scopes)
	}
	fmt.Fprintf(w, "%s: %s may%s call %s%s\n", verdict, ui.Line(id.Principal), map[bool]string{false: " not"}[ok], ui.Line(tool.Name), ui.Line(why))
	i := slices.IndexFunc(s.Plugins, func(p settings.Plugin) bool { return p.Name == tool.Plugin })
	if i < 0 || len(s.Plugins[i].Callers) == 0 {
		fmt.Fprintf(w, "  the plugin %s has no callers: it publishes to all\n", ui.Line(tool.Plugin))
	} else {
		printRules(w, s.File, &s.Plugins[i], id, tool.Local)
	}
	if i >= 0 {
		printLines(w, s.File, &s.Plugins[i], id)
		printLimits(w, s.File, &s.Plugins[i], id)
	}
	if !ok {
		return exitCode(exitTool)
	}
	return nil
}

// printLines prints the grants that are for some callers, and whether each is for this one.
func printLines(w io.Writer, file string, p *settings.Plugin, id ident.Identity) {
	for _, g := range p.Grants.Lines() {
		if len(g.Who) == 0 {
			continue
		}
		applies := "is for the caller"
		if !g.Admits(id) {
			applies = "is for others"
		}
		fmt.Fprintf(w, "  %s:%d: %s: %s\n", file, g.Line, ui.Line(g.String()), applies)
	}
}

// printLimits prints the limits that a caller has in place of the plugin's.
func printLimits(w io.Writer, file string, p *settings.Plugin, id ident.Identity) {
	if c := p.LimitsOf(id); c != nil {
		fmt.Fprintf(w, "  %s:%d: limits.for: %s\n", file, c.Line, ui.Line(c.String()))
	}
}

// printRules prints the rule that lets a caller call an entry, or the reason of each rule that does not.
func printRules(w io.Writer, file string, p *settings.Plugin, id ident.Identity, entry string) {
	for _, r := range p.Callers {
		if r.Refusal(id, entry) == "" {
			fmt.Fprintf(w, "  %s:%d: %s\n", file, r.Line, ui.Line(r.String()))
			return
		}
	}
	for _, r := range p.Callers {
		fmt.Fprintf(w, "  %s:%d: %s: %s\n", file, r.Line, ui.Line(r.String()), ui.Line(r.Refusal(id, entry)))
	}
}
