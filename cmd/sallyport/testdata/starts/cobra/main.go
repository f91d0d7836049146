// Cobra has a command with an option, of package cobra.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

var root = &cobra.Command{Use: "cobra"}

func init() {
	greet := &cobra.Command{Use: "greet"}
	greeting := greet.Flags().String("greeting", "hi", "the first word")
	greet.Run = func(_ *cobra.Command, args []string) { fmt.Println(*greeting, args) }
	root.AddCommand(greet)
}

func main() {
	if root.Execute() != nil {
		os.Exit(1)
	}
}
