package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/clients"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

func newClientConfig(std stdio) *cobra.Command {
	var write bool
	var file string
	c := &cobra.Command{
		Use:       "client-config CLIENT [DIR]",
		Short:     "print how a client reaches this host, or write it there",
		Long:      "Print the entry that makes an MCP client use this host. CLIENT is one of\n" + clients.Names() + ".\nWith --http the client speaks to a running server, else it launches one.",
		ValidArgs: clients.List(),
		Args:      words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := clients.Find(args[0])
			if err != nil {
				return err
			}
			server, err := clientServer(c, args[1:])
			if err != nil {
				return err
			}
			if !write {
				return printEntry(std, client, server)
			}
			return writeEntry(std, client, server, file)
		},
	}
	c.Flags().BoolVar(&write, "write", false, "merge into the client's file, and keep a backup")
	c.Flags().StringVar(&file, "file", "", "the client's `file`, if it is not where it usually is")
	c.Flags().String("http", "", "`address` of a running server, such as 127.0.0.1:8470")
	return c
}

// clientServer is the entry for this program: launched on stdio, or reached over HTTP.
func clientServer(c *cobra.Command, rest []string) (clients.Server, error) {
	var dir string
	if len(rest) > 0 {
		dir = rest[0]
	}
	s, err := loadSettings(c, dir)
	if err != nil {
		return clients.Server{}, err
	}
	if f := c.Flags().Lookup("http"); f.Changed {
		return httpServer(s)
	}
	if err := checkDir(s.Text("dir")); err != nil {
		return clients.Server{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return clients.Server{}, err
	}
	args := []string{"serve", s.Text("dir")}
	for _, name := range []string{"config", "state"} {
		f := c.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		abs, err := filepath.Abs(f.Value.String())
		if err != nil {
			return clients.Server{}, err
		}
		args = append(args, "--"+name, abs)
	}
	return clients.Server{Command: self, Args: args}, nil
}

// httpServer is a server on this machine, with this machine's token.
func httpServer(s *settings.Settings) (clients.Server, error) {
	scheme, addr, path := splitAddress(s.Text("http.addr"))
	name, port, err := net.SplitHostPort(addr)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || name == "" {
		return clients.Server{}, voice.Hint(fmt.Errorf("a client cannot reach %q", addr), "write host and port, such as --http 127.0.0.1:8470, or the whole address")
	}
	if local := (&streamable.Options{Addr: addr}); !local.Local() {
		return clients.Server{}, voice.Hint(fmt.Errorf("%s is not on loopback, where this machine's own token holds", addr),
			"make a token with sallyport token NAME, and write the entry by hand")
	}
	token, err := localToken(s)
	return clients.Server{URL: scheme + addr + cmp.Or(path, s.Text("http.path")), Token: token}, err
}

// splitAddress takes the address that serve prints apart: http://127.0.0.1:8470/mcp. Host and port alone
// are HTTP, and their path is "".
func splitAddress(text string) (scheme, addr, path string) {
	for _, scheme := range []string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(text, scheme); ok {
			addr, path, _ := strings.Cut(rest, "/")
			return scheme, addr, "/" + path
		}
	}
	return "http://", text, ""
}

func printEntry(std stdio, client clients.Client, server clients.Server) error {
	text, err := client.Merge(nil, server)
	if err != nil {
		return err
	}
	_, err = std.out.Write(text)
	return err
}

func writeEntry(std stdio, client clients.Client, server clients.Server, file string) error {
	if file == "" {
		f, err := client.File()
		if err != nil {
			return err
		}
		file = f
	}
	backup, err := client.Write(file, server)
	if errors.Is(err, clients.ErrUnchanged) {
		fmt.Fprintf(std.out, "%s has the entry already\n", file)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "wrote %s\n", file)
	if backup != "" {
		fmt.Fprintf(std.out, "the file as it was is %s\n", backup)
	}
	return nil
}
