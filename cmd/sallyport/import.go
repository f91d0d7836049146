package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/clients"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/foreign"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/install"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/source"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

func newImport(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "install the plugins that another host's configuration names",
		Args:  noCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImportHyperMCP(std), newImportWassette(std))
	return c
}

// importing holds the flags of the imports.
type importing struct {
	fetchFlags
	wiring
	file  string // the imported configuration, for messages
	typed bool   // the operator names the sources, not a configuration
}

func (i *importing) flags(c *cobra.Command) {
	i.fetchFlags.flags(c)
	c.Flags().StringSliceVar(&i.chosen, "client", nil, "a `client` that is to start this host, without a question: "+clients.Names()+"; none asks about none")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
}

// settings checks the flags, and returns the settings for a plugin folder.
func (i *importing) settings(c *cobra.Command, dir []string) (s *settings.Settings, err error) {
	if err = checkClients(i.chosen); err == nil {
		s, err = loadSettings(c, optional(dir))
	}
	if err == nil {
		i.server, err = launchedServer(c, s)
	}
	return s, err
}

func newImportHyperMCP(std stdio) *cobra.Command {
	var i importing
	c := &cobra.Command{
		Use:   "hyper-mcp CONFIG [DIR]",
		Short: "fetch and install the plugins of a configuration of hyper-mcp (JSON or YAML)",
		Long: `Fetch each plugin that a configuration of hyper-mcp names (oci://, https://, file://), and install it as sallyport add
does: under the policy of its source, after showing it and asking. What hyper-mcp allowed it is asked about line by
line; its limit of memory and its hidden names are written to the configuration. Each setting that has no equivalent is
named with its line.

The configuration suggests sources: a host on a private network or this machine is fetched from only with --host.

Exit code 1: a plugin was not installed; the others are.`,
		Args: words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := i.settings(c, args[1:])
			if err != nil {
				return err
			}
			i.file = args[0]
			all, remarks, err := readHyperMCP(i.file)
			if err != nil {
				return err
			}
			printRemarks(std.err, i.file, remarks)
			return i.all(c.Context(), s, std, all)
		},
	}
	i.flags(c)
	return c
}

// readHyperMCP reads a configuration of hyper-mcp.
func readHyperMCP(file string) ([]*foreign.Plugin, []foreign.Remark, error) {
	if strings.EqualFold(filepath.Ext(file), ".toml") {
		return nil, nil, ui.Hint(fmt.Errorf("%s: TOML is not read", file), "write it as JSON or YAML, with the same keys")
	}
	root, err := settings.Tree(file)
	if err != nil {
		return nil, nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, nil, err
	}
	all, remarks, err := foreign.HyperMCP(root, dir)
	return all, remarks, placed(file, err)
}

// placed adds the file to an error with a line.
func placed(file string, err error) error {
	var pe *grant.ParseError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s:%d: %s", file, pe.Line, pe.Message)
	}
	return err
}

// printRemarks prints remarks, each behind its file and line.
func printRemarks(w io.Writer, file string, all []foreign.Remark) {
	for _, r := range slices.SortedStableFunc(slices.Values(all), func(a, b foreign.Remark) int { return a.Line - b.Line }) {
		fmt.Fprintf(w, "%s:%d: %s\n", ui.Line(file), r.Line, ui.Line(r.Text))
	}
}

// all installs each plugin, and continues with the next one after a failure.
func (i *importing) all(ctx context.Context, s *settings.Settings, std stdio, all []*foreign.Plugin) (err error) {
	failed, there := false, false
	for _, p := range all {
		if s, err = s.Reload(); err != nil { // with the sections of those before
			return err
		}
		var code exitCode
		switch err := i.one(ctx, s, std, p); {
		case err == nil:
			there = true
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ui.ErrNoTerminal):
			return err
		case !errors.As(err, &code):
			ui.Complain(std.err, err)
		}
		failed = true
	}
	if there {
		if err := i.wire(ctx, std); err != nil {
			return err
		}
	}
	if failed {
		return exitCode(exitTool)
	}
	return nil
}

// one fetches a plugin, shows it, asks, and installs it.
func (i *importing) one(ctx context.Context, s *settings.Settings, std stdio, p *foreign.Plugin) error {
	printRemarks(std.err, cmp.Or(p.File, i.file), p.Remarks)
	std.detach(s)
	defer std.flush()
	c, err := i.candidate(ctx, s, std, p)
	switch {
	case errors.Is(err, install.ErrInstalled):
		return reportThere(std.out, s, p)
	case errors.Is(err, wasmbin.ErrComponent):
		return i.component(std.out, s, p, err)
	case err != nil:
		return err
	}
	defer c.Close()
	hidden, remarks, err := p.Hidden(offerOf(c.Description.Manifest))
	if err != nil {
		return fmt.Errorf("%s: not installed: %w", p.Name, placed(i.file, err))
	}
	printRemarks(std.err, i.file, remarks)
	c.Section = settings.Section{Memory: p.Memory, Hide: hidden}
	if _, err := settings.AddSection(s.Watched(), c.Name, c.Section); err != nil && !c.Section.Empty() {
		return fmt.Errorf("%s: not installed: %w", p.Name, err)
	}
	c.Note = sectionNote(c.Section)
	if c.Wants, err = withGrants(c.Wants, p.Grants); err != nil {
		return err
	}
	return installed(ctx, s, std, c)
}

// candidate fetches a plugin and stages it. The caller must close it.
func (i *importing) candidate(ctx context.Context, s *settings.Settings, std stdio, p *foreign.Plugin) (*install.Candidate, error) {
	if p.Err != nil {
		return nil, fmt.Errorf("%s: not installed: %w", p.Name, placed(i.file, p.Err))
	}
	r, err := source.Parse(p.Source)
	if err != nil {
		return nil, fmt.Errorf("%s: not installed: %w", p.Name, err)
	}
	if err := signerKept(s, r, p); err != nil {
		return nil, err
	}
	if !i.typed {
		r = r.Suggested(source.Ref{})
	}
	artifact, err := i.fetch(ctx, s, r)
	if err != nil {
		return nil, fmt.Errorf("%s: not installed: %w", p.Name, err)
	}
	artifact.Stem = p.Name
	c, err := install.Prepare(ctx, install.Options{Settings: s, Logger: logging.For(s, std.err), Artifact: artifact})
	if err != nil {
		return nil, i.refusal(p, err)
	}
	return c, nil
}

// signerKept returns an error for a plugin whose signer the other host required, and this configuration does not.
func signerKept(s *settings.Settings, r source.Ref, p *foreign.Plugin) error {
	policy := source.PolicyFor(s.Sources, r.Moving())
	if p.Signer == (foreign.Signer{}) || policy.Refuse || len(policy.Require) > 0 || len(policy.Keys) > 0 {
		return nil
	}
	return ui.Hint(fmt.Errorf("%s: not installed: hyper-mcp requires a signature of %s, and no line of sources: does", p.Name, p.Signer.Identity),
		"write into %s: sources: {%q: {require: {issuer: %q, identity: %q}}}", s.Watched(), r.Moving(), p.Signer.Issuer, p.Signer.Identity)
}

// refusal attaches the next step to an error of install.Prepare.
func (i *importing) refusal(p *foreign.Plugin, err error) error {
	var claimed *install.ClaimedError
	var alike *install.AlikeError
	var name *install.NameError
	named := fmt.Errorf("%s: not installed: %w", p.Name, err)
	if errors.As(err, &claimed) || errors.As(err, &alike) || errors.As(err, &name) {
		return ui.Hint(named, "sallyport add %s --name NAME installs it under a name that you choose", shellword.Quoted(p.Source))
	}
	return named
}

// withGrants returns the wants of a plugin with the lines that equal its permissions elsewhere, each once.
func withGrants(wants []hostfuncs.Want, lines []foreign.Grant) ([]hostfuncs.Want, error) {
	for _, l := range lines {
		g, err := grant.ParseLine(l.Line)
		if err != nil {
			return nil, err
		}
		set := grant.NewSet(g)
		if !slices.ContainsFunc(wants, func(w hostfuncs.Want) bool { return w.Grants.String() == set.String() }) {
			wants = append(slices.Clip(wants), hostfuncs.Want{Grants: set, Why: l.Why})
		}
	}
	return wants, nil
}

// sectionNote describes the values that are written with a plugin.
func sectionNote(x settings.Section) (text string) {
	if x.Memory != "" {
		text += "memory  " + ui.Line(x.Memory) + " at most\n"
	}
	if len(x.Hide) > 0 {
		text += "hides   " + ui.Line(strings.Join(x.Hide, ", ")) + "\n"
	}
	return text
}

// reportThere prints that a plugin is installed, and its permissions elsewhere that are not granted here.
func reportThere(w io.Writer, s *settings.Settings, p *foreign.Plugin) error {
	name, err := manifest.NameOfFile(p.Name + ".wasm")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s is installed already; its section of the configuration stays\n", ui.Line(name))
	for _, l := range p.Grants {
		if _, err := s.Add(name, l.Line); !errors.Is(err, settings.ErrGranted) {
			fmt.Fprintf(w, "not yet   %s\n", ui.Line(host.GrantCommand(s, name, l.Line, true)))
		}
	}
	return nil
}

// offerOf lists the names a manifest publishes.
func offerOf(m *manifest.Manifest) foreign.Offer {
	ids := func(k manifest.Kind) (all []string) {
		for _, e := range m.Entries(k) {
			all = append(all, e.ID)
		}
		return all
	}
	pairs := func(k manifest.Kind) (all [][2]string) {
		for _, e := range m.Entries(k) {
			name, _ := jsonraw.String(e.Members.Get("name"))
			all = append(all, [2]string{name, e.ID})
		}
		return all
	}
	return foreign.Offer{Tools: ids(manifest.Tool), Prompts: ids(manifest.Prompt),
		Resources: pairs(manifest.Resource), Templates: pairs(manifest.Template)}
}
