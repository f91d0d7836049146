// Withpostgres runs a command with a PostgreSQL server of its own, for tests with the tag postgres.
//
//	go run ./cmd/withpostgres go test -tags postgres ./hostfuncs/state/store
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("a command is missing")
	}
	s, err := postgrestest.Start()
	if err != nil {
		return err
	}
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), postgrestest.Variable+"="+s.URL("owner", "public"))
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return errors.Join(c.Run(), s.Close())
}
