package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan is the hidden command with which a release writes its manual pages.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write the manual pages", Hidden: true, Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Sallyport", Manual: "Sallyport Manual"}, args[0])
		},
	}
}
