package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/doctor"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
)

func newDoctor(std stdio) *cobra.Command {
	var asJSON, fix bool
	c := &cobra.Command{
		Use:   "doctor [DIR]",
		Short: "examine the installation, and say for each finding the command to type",
		Long: `Examine the installation on one page: configuration, folders, plugins, grants that match nothing, answers and
questions, running hosts, clients and whether they can start this program, clock and kernel. --fix makes the repairs
that are safe: it creates the plugin folder, takes write permission away from others, and removes what interrupted
installations left. It changes no target of a link, and grants and approves nothing.

Exit code 1: there is a problem. Warnings and notes leave it 0.`,
		Args: words(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			report, err := examine(c, std, optional(args))
			if err != nil {
				return err
			}
			if fix {
				report.Repair()
			}
			if asJSON {
				err = ui.WriteJSON(std.out, report)
			} else {
				report.Print(std.out)
			}
			if err == nil && report.Count(doctor.Problem) > 0 {
				err = exitCode(exitTool)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&fix, "fix", false, "make the repairs that are safe")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// examine reads the settings, as far as they are valid, and examines the installation.
func examine(c *cobra.Command, std stdio, dir string) (*doctor.Report, error) {
	file, err := c.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	s, broken, err := settings.LoadHost(settings.Options{File: file, Dir: dir, Flags: c.Flags()})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return doctor.Examine(c.Context(), doctor.Subject{
		Settings: s, Broken: broken, Program: self, Now: time.Now(),
		Load:    func(ctx context.Context) (doctor.Folder, error) { return loadFolder(ctx, s, std) },
		Secrets: func() ([]doctor.Secret, error) { return unsetSecrets(s) },
	}), nil
}

// unsetSecrets returns the secrets of grants that have no value.
func unsetSecrets(s *settings.Settings) (unset []doctor.Secret, err error) {
	gates := host.Gates(s)
	defer gates.Close()
	for _, p := range s.Plugins {
		for _, line := range p.Grants.Secrets() {
			if line.PerPrincipal {
				continue // of each caller, whom the configuration need not name
			}
			state := stateOfSecret(s, gates.Secrets(), line)
			switch {
			case !strings.HasPrefix(state, "unset: "):
			case line.From != "":
				unset = append(unset, doctor.Secret{Name: line.Name, Plugin: p.Name, State: state, Next: "give " + line.From + " a value"})
			default:
				unset = append(unset, doctor.Secret{Name: line.Name, Plugin: p.Name, State: "it has no value", Next: withFlags(s, "sallyport secret set "+line.Name)})
			}
		}
	}
	return unset, nil
}
