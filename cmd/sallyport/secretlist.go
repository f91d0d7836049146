package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
)

func newSecretList(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "name the secrets that are kept, and those that the configuration wants, never their values",
		Args:  words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			if err := userfile.MakeFolder(s.Text("state")); err != nil {
				return err
			}
			gates := host.Gates(s)
			defer gates.Close()
			return listSecrets(std, s, gates.Secrets())
		},
	}
}

// listSecrets prints a line for each secret that a grant uses, and for each stored one that none uses.
func listSecrets(std stdio, s *settings.Settings, kept secret.Kept) error {
	spare, err := kept.Names()
	if err != nil {
		return err
	}
	owned, err := kept.OfPrincipals()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	rows := 0
	row := func(name, plugin, state string) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", ui.Line(name), ui.Line(plugin), ui.Line(state))
		rows++
	}
	for _, p := range s.Plugins {
		for _, line := range p.Grants.Secrets() {
			if line.PerPrincipal {
				row(line.Name, p.Name, callersOf(owned, line.Name))
				wanted[line.Name] = true
				continue
			}
			row(line.Name, p.Name, stateOfSecret(s, kept, line))
			if line.From == "" {
				spare = slices.DeleteFunc(spare, func(name string) bool { return name == line.Name })
			}
		}
	}
	for _, name := range spare {
		row(name, "-", "kept, and no line wants it: sallyport secret remove "+name+" forgets it")
	}
	for _, o := range owned {
		if !wanted[o.Name] {
			row(o.Name, "-", "kept for "+o.Principal+", and no line wants it: sallyport secret remove "+o.Name+" --principal "+shellword.Quoted(o.Principal)+" forgets it")
		}
	}
	if rows == 0 {
		fmt.Fprintln(std.out, "no secret is kept, and no line of the configuration wants one")
	}
	return table.Flush()
}

// callersOf names the callers with a value of a secret.
func callersOf(owned []secret.Owned, name string) string {
	var callers []string
	for _, o := range owned {
		if o.Name == name {
			callers = append(callers, o.Principal)
		}
	}
	if callers == nil {
		return "each caller's own, and the folder has none: sallyport secret set " + name + " --principal NAME asks for one"
	}
	return "each caller's own, kept for " + strings.Join(callers, ", ")
}

// stateOfSecret describes the source of a secret's value, or the command that sets it.
func stateOfSecret(s *settings.Settings, kept secret.Kept, line grant.Secret) string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	if line.From != "" {
		from, err := secret.ParseSource(line.From)
		if err == nil {
			_, err = from.Read(home)
		}
		if err != nil {
			return "unset: " + err.Error()
		}
		return "set, from " + line.From
	}
	_, err = secret.Source{Kind: secret.Env, Name: line.Name}.Read(home)
	switch {
	case err == nil:
		return "set, in the variable of its name"
	case !errors.Is(err, secret.ErrUnset):
		return "unset: " + err.Error()
	}
	if _, err = kept.Get(line.Name); err == nil {
		return "kept"
	}
	return "unset: " + strings.TrimSpace("sallyport secret set "+line.Name+" "+s.Flags()) + " asks for it"
}
