package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/transport/auth"
)

func newToken(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "token NAME",
		Short: "make a named token for HTTP and print it, this once",
		Args:  words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			if err := userfile.MakeFolder(s.Text("state")); err != nil {
				return err
			}
			token, err := auth.Add(s.TokensFile(), args[0])
			if errors.Is(err, auth.ErrDuplicate) {
				return ui.Hint(err, "to create it again, remove its line from %s", s.TokensFile())
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(std.out, token)
			fmt.Fprintf(std.err, "its hash is in %s; a server that runs knows it from its next start\n", s.TokensFile())
			return nil
		},
	}
}
