package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
)

// trusting holds the flags of trust update.
type trusting struct {
	fetchFlags
	mirror string
	root   string // file with the root of the mirror's metadata
}

func newTrust(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "trust",
		Short: "print the trusted root that signatures of sigstore are verified against",
		Args:  words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return printTrust(std, s)
		},
	}
	var t trusting
	update := &cobra.Command{
		Use:   "update",
		Short: "fetch the newest trusted root of sigstore",
		Long: `Fetch the newest trusted root of sigstore: its certificate authorities and logs, into the file trusted_root. It is the
only step of the verification that uses the network. The mirror's metadata (TUF) vouch for the file, from a root that
sallyport-sigstore has for the public instance. --mirror and --root name a private instance, and you are asked.`,
		Args: words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return t.update(c.Context(), s, std)
		},
	}
	t.flags(update)
	update.Flags().StringVar(&t.mirror, "mirror", "", "`address` of the mirror of a private instance, in place of the public one")
	update.Flags().StringVar(&t.root, "root", "", "`file` with the root of that mirror's metadata, as its operator gave it to you")
	c.AddCommand(update)
	return c
}

// trustedRoot are the members of a trusted root that are printed.
type trustedRoot struct {
	CertificateAuthorities, TimestampAuthorities []struct{ URI string }
	Tlogs, Ctlogs                                []struct{ BaseURL string }
}

// lines describes a trusted root.
func (r trustedRoot) lines() string {
	var text strings.Builder
	for _, a := range r.CertificateAuthorities {
		fmt.Fprintf(&text, "certificates  %s\n", ui.Line(a.URI))
	}
	for _, l := range r.Ctlogs {
		fmt.Fprintf(&text, "their log     %s\n", ui.Line(l.BaseURL))
	}
	for _, l := range r.Tlogs {
		fmt.Fprintf(&text, "signatures    %s\n", ui.Line(l.BaseURL))
	}
	for _, a := range r.TimestampAuthorities {
		fmt.Fprintf(&text, "times         %s\n", ui.Line(a.URI))
	}
	return text.String()
}

// printTrust prints the trusted root.
func printTrust(std stdio, s *settings.Settings) error {
	file := s.Text("trusted_root")
	raw, err := userfile.Read(file)
	if err != nil {
		return err
	}
	if raw == nil {
		return ui.Hint(fmt.Errorf("there is no trusted root %s yet", file), "sallyport trust update fetches that of the public instance")
	}
	var r trustedRoot
	if err := json.Unmarshal(raw, &r); err != nil {
		return ui.Hint(fmt.Errorf("%s is no trusted root: %w", file, err), "sallyport trust update fetches a new one")
	}
	_, err = fmt.Fprintf(std.out, "%s\n%s", ui.Line(file), r.lines())
	return err
}

// update fetches the newest trusted root, and writes it.
func (t *trusting) update(ctx context.Context, s *settings.Settings, std stdio) error {
	if (t.mirror == "") != (t.root == "") {
		return ui.Hint(errors.New("--mirror and --root belong together"), "the operator of the mirror gives you its root.json, by another way than the mirror")
	}
	u := sigstore.Update{Mirror: cmp.Or(t.mirror, sigstore.PublicMirror), Get: t.fetcher().Get}
	if t.root != "" {
		root, err := os.ReadFile(t.root)
		if err != nil {
			return err
		}
		u.Root = root
	}
	newest, err := host.SignatureVerifier(s).Newest(ctx, u)
	var fault *sigstore.Fault
	if errors.As(err, &fault) {
		return ui.Hint(err, "%s", fault.Next())
	}
	if err != nil {
		return hinted(err)
	}
	return t.replace(ctx, s, std, newest)
}

// replace writes a trusted root, if it is new. That of a private instance is shown first, with a question.
func (t *trusting) replace(ctx context.Context, s *settings.Settings, std stdio, newest []byte) error {
	file := s.Text("trusted_root")
	var r trustedRoot
	if err := json.Unmarshal(newest, &r); err != nil {
		return err
	}
	if old, err := userfile.Read(file); err == nil && bytes.Equal(old, newest) {
		_, err := fmt.Fprintf(std.out, "%s is up to date\n", ui.Line(file))
		return err
	}
	if t.mirror != "" {
		if err := agreed(ctx, std, r.lines(), fmt.Sprintf("may they vouch for plugins, in %s?", ui.Line(file))); err != nil {
			return err
		}
	}
	if _, err := userfile.Change(file, func([]byte) ([]byte, error) { return newest, nil }, userfile.Options{}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(std.out, "%s is updated\n%s", ui.Line(file), r.lines())
	return err
}
