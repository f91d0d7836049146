package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/internal/minisign"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// pushing holds the flags of push.
type pushing struct {
	fetchFlags
	replace bool
	key     string // the public key that has to have signed
	secret  string // the file of the secret key that signs; "" is none
}

func newPush(std stdio) *cobra.Command {
	var p pushing
	c := &cobra.Command{
		Use:   "push FILE.wasm oci://REGISTRY/NAME:TAG",
		Short: "publish a plugin in an OCI registry",
		Long: `Publish a plugin in an OCI registry, in the layout of wkg, Wassette and wasmCloud. Its description is packed into the
published bytes, and a tool file beside it too; the file stays as it is. --sign signs these bytes with a secret key of
minisign, whose password is typed at the terminal. Without it FILE.wasm.minisig goes along, if it is there: then the
file has to be packed already, because the signature is for these bytes.

The plugin is fetched again by its digest, which is printed. Equal bytes are equal images, at any time. Logins are those
of Docker, with its credential helpers.`,
		Args: words(2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			r, err := source.Parse(args[1])
			if err != nil {
				return err
			}
			return p.run(c.Context(), s, std, args[0], r)
		},
	}
	p.flags(c)
	c.Flags().StringVar(&p.key, "minisign", "", "public `key` of minisign: nothing is pushed without a signature by it")
	c.Flags().StringVar(&p.secret, "sign", "", "`file` of a secret key of minisign, which signs the plugin")
	c.Flags().BoolVar(&p.replace, "replace", false, "also if the tag names another image: it is moved")
	return c
}

// run packs a plugin, pushes it and prints its reference.
func (p *pushing) run(ctx context.Context, s *settings.Settings, std stdio, file string, r source.Ref) error {
	publication, err := p.publicationOf(ctx, s, std, file)
	if err != nil {
		return err
	}
	by, err := p.signer(publication)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	digest, err := p.fetcher().Push(ctx, r, publication)
	var taken *source.TakenError
	if errors.As(err, &taken) {
		return ui.Hint(err, "choose a tag for each version; --replace moves this one")
	}
	if err != nil {
		return hinted(err)
	}
	fmt.Fprintf(std.out, "pushed %s, %d bytes, %s\n", ui.Line(r.String()), len(publication.Wasm), by)
	if p.key != "" {
		fmt.Fprintf(std.out, "a policy that requires this key: sources: {'%s': {minisign: %s}}\n", r.Pattern(), p.key)
	}
	fmt.Fprintf(std.out, "next: sallyport add %s@%s\n", ui.Line(r.String()), digest)
	return nil
}

// signer returns the key that signed, in words, or an error if a different one has to.
func (p *pushing) signer(publication source.Publication) (string, error) {
	var required minisign.Key
	var err error
	if p.key != "" {
		required, err = minisign.ParseKey(p.key)
		p.key = required.String()
	}
	switch {
	case err != nil:
		return "", err
	case publication.Signature == nil && p.key != "":
		return "", ui.Hint(errors.New("it is not signed"), "--sign FILE signs it with a secret key of minisign")
	case publication.Signature == nil:
		return "not signed", nil
	}
	s, err := minisign.ParseSignature(publication.Signature)
	if err == nil && p.key != "" {
		err = required.Verify(publication.Wasm, s)
	}
	return "signed by the key " + s.ID(), err
}

// publicationOf reads a plugin, packs it and adds its signature.
func (p *pushing) publicationOf(ctx context.Context, s *settings.Settings, std stdio, file string) (source.Publication, error) {
	m, err := packed(ctx, s, std, file)
	if err != nil {
		return source.Publication{}, err
	}
	to := source.Publication{Wasm: m.wasm, Title: m.description.Name, Version: m.description.Manifest.Version, Description: m.description.Manifest.Description, Replace: p.replace}
	if p.secret != "" {
		err = p.sign(ctx, &to)
		return to, err
	}
	switch to.Signature, err = os.ReadFile(file + source.SignatureSuffix); {
	case errors.Is(err, os.ErrNotExist):
		to.Signature = nil
		return to, nil
	case err != nil:
		return to, err
	case !m.unchanged:
		return to, ui.Hint(fmt.Errorf("%s%s is for a file that is not packed", file, source.SignatureSuffix), "sallyport pack %s, and then sign it again; --sign FILE signs the packed bytes", shellword.Quoted(file))
	}
	return to, nil
}

// sign signs a publication with the secret key, whose public one is required from then on.
func (p *pushing) sign(ctx context.Context, to *source.Publication) error {
	secret, err := p.unlocked(ctx)
	if err != nil {
		return err
	}
	public, err := secret.Public()
	if err != nil {
		return err
	}
	p.key = cmp.Or(p.key, public.String())
	comment := fmt.Sprintf("%.100s %.100s", ui.Line(to.Title), ui.Line(to.Version)) // no time: equal bytes are equal images
	to.Signature, err = secret.Sign(to.Wasm, strings.TrimSpace(comment))
	return err
}

// unlocked reads the secret key, and asks for its password if it has one.
func (p *pushing) unlocked(ctx context.Context) (secret minisign.Secret, err error) {
	file, err := userfile.KeyFileContent(p.secret)
	if errors.Is(err, fs.ErrNotExist) {
		return secret, ui.Hint(err, "minisign -G makes a pair of keys")
	}
	if err != nil {
		return secret, err
	}
	var password string
	if minisign.Locked(file) {
		if password, err = p.password(ctx); err != nil {
			return secret, err
		}
	}
	secret, err = minisign.ParseSecret(file, password)
	switch {
	case errors.Is(err, minisign.ErrPassword):
		err = ui.Hint(fmt.Errorf("%s: %w", p.secret, err), "nothing was pushed: type the password again")
	case err != nil:
		err = fmt.Errorf("%s: %w", p.secret, err)
	}
	return secret, err
}

// password reads the password of the secret key at the terminal.
func (p *pushing) password(ctx context.Context) (string, error) {
	t, err := ui.OpenTerminal()
	if err != nil {
		return "", ui.Hint(fmt.Errorf("%s has a password, and %w", p.secret, err), "minisign -C -W -s FILE takes the password off a copy of the key")
	}
	defer t.Close()
	password, err := t.Secret(ctx, "password of "+ui.Line(p.secret)+", which is not shown: ")
	if err != nil {
		return "", errors.New("no password was typed, and nothing was pushed")
	}
	return password, nil
}
