package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/registry"
)

// addLockFlags adds the flags of commands that load a folder.
func addLockFlags(c *cobra.Command) {
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	c.Flags().Bool("locked", false, "serve nothing that is not in the lock file")
	c.Flags().Bool("trust-on-first-use", false, "pin the first bytes seen of each plugin; this is the default")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		trust, err := c.Flags().GetBool("trust-on-first-use")
		switch {
		case err != nil || !trust:
			return err
		case c.Flags().Changed("locked"):
			return errors.New("--locked and --trust-on-first-use say two things: give one")
		}
		return c.Flags().Set("locked", "false")
	}
}

// beforehand describes the updates that the operator approved in advance.
func beforehand(updates string) string {
	if updates == string(registry.UpdatesDev) {
		return "dev: changed bytes serve at once, under its grants"
	}
	return "updates: same-interface: new bytes serve that import, want and offer the same"
}
