package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/minisign"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// pushing holds the flags of push.
type pushing struct {
	fetchFlags
	replace bool
	key     string // the public key that has to have signed
}

func newPush(std stdio) *cobra.Command {
	var p pushing
	c := &cobra.Command{
		Use:   "push FILE.wasm oci://REGISTRY/NAME:TAG",
		Short: "publish a plugin in an OCI registry",
		Long: `Publish a plugin in an OCI registry, in the layout of wkg, Wassette and wasmCloud. Its description is packed into the
published bytes, and a tool file beside it too; the file stays as it is. FILE.wasm.minisig, if it is there, goes along:
then the file has to be packed already, because the signature is for these bytes.

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
	c.Flags().BoolVar(&p.replace, "replace", false, "also if the tag names another image: it is moved")
	return c
}

// run packs a plugin, pushes it and prints its reference.
func (p *pushing) run(ctx context.Context, s *settings.Settings, std stdio, file string, r source.Ref) error {
	publication, err := publicationOf(ctx, s, std, file)
	if err != nil {
		return err
	}
	if err := p.checkSigned(publication); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	publication.Replace = p.replace
	digest, err := p.fetcher().Push(ctx, r, publication)
	var taken *source.TakenError
	if errors.As(err, &taken) {
		return ui.Hint(err, "choose a tag for each version; --replace moves this one")
	}
	if err != nil {
		return hinted(err)
	}
	signed := "not signed"
	if publication.Signature != nil {
		signed = "signed"
	}
	fmt.Fprintf(std.out, "pushed %s, %d bytes, %s\n", ui.Line(r.String()), len(publication.Wasm), signed)
	fmt.Fprintf(std.out, "next: sallyport add %s@%s\n", ui.Line(r.String()), digest)
	return nil
}

// checkSigned returns an error if a key is required and did not sign.
func (p *pushing) checkSigned(publication source.Publication) error {
	if p.key == "" {
		return nil
	}
	k, err := minisign.ParseKey(p.key)
	if err != nil {
		return err
	}
	if publication.Signature == nil {
		return ui.Hint(errors.New("it is not signed"), "minisign -S -m FILE.wasm makes the signature")
	}
	s, err := minisign.ParseSignature(publication.Signature)
	if err == nil {
		err = k.Verify(publication.Wasm, s)
	}
	return err
}

// publicationOf reads a plugin, packs it and adds its signature.
func publicationOf(ctx context.Context, s *settings.Settings, std stdio, file string) (p source.Publication, err error) {
	m, err := packed(ctx, s, std, file)
	if err != nil {
		return p, err
	}
	p = source.Publication{Wasm: m.wasm, Title: m.description.Name, Version: m.description.Manifest.Version, Description: m.description.Manifest.Description}
	switch p.Signature, err = os.ReadFile(file + source.SignatureSuffix); {
	case errors.Is(err, os.ErrNotExist):
		p.Signature = nil
		return p, nil
	case err != nil:
		return p, err
	case !m.unchanged:
		return p, ui.Hint(fmt.Errorf("%s%s is for a file that is not packed", file, source.SignatureSuffix), "sallyport pack %s, and then sign it again", settings.Quoted(file))
	}
	_, err = minisign.ParseSignature(p.Signature)
	return p, err
}
