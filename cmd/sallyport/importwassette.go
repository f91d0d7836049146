package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/foreign"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

func newImportWassette(std stdio) *cobra.Command {
	var i importing
	c := &cobra.Command{
		Use:   "wassette SOURCE [DIR]",
		Short: "fetch the components of Wassette, and turn their policies into grants",
		Long: `Fetch the components of Wassette: those of its folder (plugin_dir of its configuration), a file, https://… or
oci://REGISTRY/NAME:TAG. The policy of a component, NAME.policy.yaml beside it or --policy, becomes grants, and each
entry without an equivalent is named with its line.

A component is not served here, only core modules are. It is fetched under the policy of its source, and named with the
grants of its policy as commands. A core module under its name is installed as sallyport add does: put one that you
built for wasm32-wasip1 in its place, and import it again.

Exit code 1: a component was not installed.`,
		Args: words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := i.settings(c, args[1:])
			if err != nil {
				return err
			}
			policy, err := c.Flags().GetString("policy")
			if err != nil {
				return err
			}
			i.file, i.typed = args[0], true
			all, err := foreign.Wassette(args[0], policy, settings.Tree)
			if err != nil {
				return err
			}
			return i.all(c.Context(), s, std, all)
		},
	}
	i.flags(c)
	c.Flags().String("policy", "", "policy `file` of one component")
	return c
}

// component prints the settings and commands for a core module in place of a component. The error names the component.
func (i *importing) component(w io.Writer, s *settings.Settings, p *foreign.Plugin, err error) error {
	name, bad := manifest.NameOfFile(p.Name + ".wasm")
	if bad != nil {
		return err
	}
	if len(p.Grants) > 0 || p.Memory != "" {
		fmt.Fprintf(w, "%s is not installed; its policy, for a core module of that name:\n", ui.Line(name))
	}
	for _, l := range p.Grants {
		fmt.Fprintf(w, "  %s\n", ui.Line(host.GrantCommand(s, name, l.Line, true)))
	}
	if p.Memory != "" {
		fmt.Fprintf(w, "  limits: {memory: %s}\n", p.Memory)
	}
	return ui.Hint(err, "build a core module, then sallyport add FILE --name %s; put at the place of a file of Wassette's folder, it is imported with its policy", name)
}
