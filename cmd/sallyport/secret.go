package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	ident "github.com/sallyport-mcp/sallyport/internal/identity"
)

// maxTyped is the longest line in bytes that terminals accept; a longer one is cut off to this length.
const maxTyped = 4095

func newSecret(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "secret",
		Short: "keep a secret that the host puts into plugins' requests",
		Args:  noCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSecretSet(std), newSecretRemove(std), newSecretList(std))
	return c
}

func newSecretSet(std stdio) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "store a secret under a name, typed at the terminal without echo",
		Long: `Store a value under a name, for lines such as secret: NAME. It is read at the terminal without being shown, never from
an argument or standard input, and kept in the keyring of the operating system, or, where there is none, in an
owner-only file of the state folder. A variable of that name comes first.

With --principal the value is that of one caller, for lines such as secret: NAME per principal.`,
		Args: words(1, 1),
		RunE: withSecrets(&of, func(ctx context.Context, s *settings.Settings, kept secret.Kept, name string) error {
			value, err := typedSecret(ctx, name)
			if err != nil {
				return err
			}
			where, err := kept.Set(name, value)
			if err != nil {
				return fmt.Errorf("the secret %s: %w", ui.Line(name), err)
			}
			fmt.Fprintf(std.out, "kept %s of %s%s in %s: hosts that run have it within a minute\n", ui.Count(len(value), "byte"), name, ofCaller(of), where)
			for _, elsewhere := range takenFrom(s, name, of != "") {
				fmt.Fprintf(std.out, "note: %s\n", ui.Line(elsewhere))
			}
			return nil
		}),
	}
	addPrincipal(c, &of)
	return c
}

func addPrincipal(c *cobra.Command, of *string) {
	c.Flags().StringVar(of, "principal", "", "of this `principal`, as the audit log shows it, such as token:ann")
}

func newSecretRemove(std stdio) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "remove a secret, confirmed at the terminal",
		Args:  words(1, 1),
		RunE: withSecrets(&of, func(ctx context.Context, _ *settings.Settings, kept secret.Kept, name string) error {
			if err := agreed(ctx, std, "secret  "+ui.Line(name)+ofCaller(of), "forget it?"); err != nil {
				return err
			}
			err := kept.Remove(name)
			if errors.Is(err, secret.ErrUnset) {
				return fmt.Errorf("no secret %q%s is kept", name, ofCaller(of))
			}
			if err == nil {
				fmt.Fprintf(std.out, "forgotten: %s%s\n", ui.Line(name), ofCaller(of))
			}
			return err
		}),
	}
	addPrincipal(c, &of)
	return c
}

// ofCaller names the caller of a value, behind its name; "" for a value of all.
func ofCaller(principal string) string {
	if principal == "" {
		return ""
	}
	return " of " + ui.Line(principal)
}

// withSecrets runs a command on the secrets of its settings, or those of one principal.
func withSecrets(of *string, do func(ctx context.Context, s *settings.Settings, kept secret.Kept, name string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := checkOwner(c, *of); err != nil {
			return err
		}
		s, err := loadSettings(c, "")
		if err != nil {
			return err
		}
		if err := userfile.MakeFolder(s.Text("state")); err != nil {
			return err
		}
		gates := host.Gates(s)
		defer gates.Close()
		kept := gates.Secrets()
		if *of != "" {
			kept = kept.For(*of)
		}
		return do(c.Context(), s, kept, args[0])
	}
}

// checkOwner refuses a principal that is none, or that is not one caller.
func checkOwner(c *cobra.Command, principal string) error {
	if !c.Flags().Changed("principal") {
		return nil
	}
	_, err := ident.New(principal, nil, nil)
	if err == nil {
		_, err = ident.ParseWho([]string{principal})
	}
	if err == nil && (principal == ident.Anonymous || principal == "all") {
		err = fmt.Errorf("%s is not one caller, and has no secrets", principal)
	}
	if err != nil {
		return fmt.Errorf("--principal: %w", err)
	}
	return nil
}

// typedSecret reads a value at the terminal.
func typedSecret(ctx context.Context, name string) (string, error) {
	if !secret.ValidName(name) {
		return "", fmt.Errorf("%q is no name of a secret: write letters, digits, _ . and -", name)
	}
	t, err := ui.OpenTerminal()
	if err != nil {
		return "", ui.Hint(err, "a person types this, at a terminal: nothing else that starts this command can")
	}
	defer t.Close()
	value, err := t.Secret(ctx, "the value of "+name+", which is not shown: ")
	if err != nil {
		return "", errors.New("nothing was typed, and nothing was changed")
	}
	if value = strings.TrimSpace(value); len(value) >= maxTyped {
		return "", ui.Hint(fmt.Errorf("a terminal takes %d bytes of one line at most, and this may have been cut off", maxTyped), "put it into an owner-only file, and write from: file ~/PATH in the line")
	}
	return value, nil
}

// takenFrom returns a note for each plugin that reads a secret from a different source by its grants. With owned, the
// value is that of one caller.
func takenFrom(s *settings.Settings, name string, owned bool) (notes []string) {
	for _, p := range s.Plugins {
		for _, line := range p.Grants.Secrets() {
			switch {
			case line.Name == name && owned && !line.PerPrincipal:
				notes = append(notes, fmt.Sprintf("the line of %s is for a value of all callers: write secret: %s per principal", p.Name, name))
				continue
			case line.Name == name && !owned && line.PerPrincipal:
				notes = append(notes, fmt.Sprintf("the line of %s is for a value of each caller: --principal names one", p.Name))
				continue
			}
			if line.Name == name && line.From != "" {
				notes = append(notes, fmt.Sprintf("the line of %s takes it from %s, and not from here: take from: out of the line", p.Name, line.From))
			}
		}
	}
	return notes
}
