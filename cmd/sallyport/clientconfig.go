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
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

// clientEntry holds the flags of client-config.
type clientEntry struct {
	client                 clients.Client
	name, file             string
	write, remove, replace bool
}

func newClientConfig(std stdio) *cobra.Command {
	var e clientEntry
	c := &cobra.Command{
		Use:   "client-config CLIENT [DIR]",
		Short: "print how a client reaches this host, or write it there",
		Long: "Print the entry that makes an MCP client use this host. CLIENT is one of\n" + clients.Names() +
			".\nWith --http the client speaks to a running server, else it launches one. Each folder needs an entry of its own: --name.",
		ValidArgs: clients.List(),
		Args:      words(1, 2),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if e.client, err = clients.Find(args[0]); err == nil {
				err = clients.CheckName(e.name)
			}
			if err != nil {
				return err
			}
			if e.remove {
				return e.takeOut(std)
			}
			server, err := clientServer(c, args[1:])
			if err != nil {
				return err
			}
			if !e.write {
				return e.print(std, server)
			}
			return e.put(std, server)
		},
	}
	c.Flags().BoolVar(&e.write, "write", false, "put it into the client's file, and keep a backup")
	c.Flags().BoolVar(&e.remove, "remove", false, "take the entry out of the client's file, and keep a backup")
	c.Flags().BoolVar(&e.replace, "replace", false, "with --write: also where the entry serves another folder")
	c.Flags().StringVar(&e.name, "name", clients.DefaultName, "the client's name for this host: `text`, for a second folder")
	c.Flags().StringVar(&e.file, "file", "", "the client's `file`, if it is not where it usually is")
	c.Flags().String("http", "", "`address` of a running server, such as 127.0.0.1:8470")
	c.MarkFlagsMutuallyExclusive("write", "remove")
	return c
}

// clientServer returns the server entry for this program: a command for stdio, or a URL with --http.
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
	if _, err := os.Stat(s.Text("dir")); err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "note: there is no folder %s yet: the client is served nothing until it is there\n", ui.Line(s.Text("dir")))
	}
	return launchedServer(c, s)
}

// launchedServer returns the entry that launches this program on the plugin folder, with the flags that chose its files.
func launchedServer(c *cobra.Command, s *settings.Settings) (clients.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return clients.Server{}, err
	}
	args := []string{"serve", s.Text("dir")}
	for _, name := range []string{"config", "state", "lock"} {
		f := c.Flags().Lookup(name)
		if f == nil || !f.Changed {
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

// httpServer returns the entry for a server on this machine, with the local token.
func httpServer(s *settings.Settings) (clients.Server, error) {
	scheme, addr, path := splitAddress(s.Text("http.addr"))
	name, port, err := net.SplitHostPort(addr)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || name == "" {
		return clients.Server{}, ui.Hint(fmt.Errorf("a client cannot reach %q", s.Text("http.addr")), "write host and port, such as --http 127.0.0.1:8470, or the whole address")
	}
	if local := (&streamable.Options{Addr: addr}); !local.Local() {
		return clients.Server{}, ui.Hint(fmt.Errorf("%s is not on loopback, where this machine's own token holds", addr),
			"make a token with sallyport token NAME, and write the entry by hand")
	}
	token, err := localToken(s)
	return clients.Server{URL: scheme + addr + cmp.Or(path, s.Text("http.path")), Token: token}, err
}

// splitAddress splits an address as serve prints it: http://127.0.0.1:8470/mcp. The default scheme is http. The path is
// "" if missing or "/".
func splitAddress(text string) (scheme, addr, path string) {
	scheme, addr = "http://", text
	for _, known := range []string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(text, known); ok {
			scheme, addr = known, rest
		}
	}
	addr, path, _ = strings.Cut(addr, "/")
	if path != "" {
		path = "/" + path
	}
	return scheme, addr, path
}

func (e *clientEntry) print(std stdio, server clients.Server) error {
	text, err := e.client.Merge(nil, e.name, server, false)
	if err != nil {
		return err
	}
	_, err = std.out.Write(text)
	return err
}

// place returns the path of the client's file.
func (e *clientEntry) place() (string, error) {
	if e.file != "" {
		return e.file, nil
	}
	return e.client.File()
}

// put writes the entry into the client's file.
func (e *clientEntry) put(std stdio, server clients.Server) error {
	file, err := e.place()
	if err != nil {
		return err
	}
	backup, err := e.client.Write(file, e.name, server, e.replace)
	var taken *clients.TakenError
	switch {
	case errors.Is(err, clients.ErrUnchanged):
		fmt.Fprintf(std.out, "%s has the entry already\n", file)
		return nil
	case errors.As(err, &taken):
		return ui.Hint(fmt.Errorf("%s: %w", file, err), "--name %s_2 adds a second entry, --replace changes this one", e.name)
	case err != nil:
		return err
	}
	fmt.Fprintf(std.out, "wrote %s\n", file)
	toldBackup(std, e.client, backup)
	return nil
}

// takeOut removes the entry from the client's file.
func (e *clientEntry) takeOut(std stdio) error {
	file, err := e.place()
	if err != nil {
		return err
	}
	backup, err := e.client.Delete(file, e.name)
	if errors.Is(err, clients.ErrNoEntry) {
		return ui.Hint(fmt.Errorf("%s has no entry %q", file, e.name), "--name names another one, --file another file")
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "removed %q from %s\n", e.name, file)
	toldBackup(std, e.client, backup)
	return nil
}
