package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/clients"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/install"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/review"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/registry/index"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// fetchFlags holds the flags of commands that fetch plugins.
type fetchFlags struct {
	hosts []string // that may be on a private network
}

func (f *fetchFlags) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.hosts, "host", nil, "a `host` that may be on a private network or this machine: a mirror, or the storage that a registry leads to")
}

// fetcher returns a fetcher for the flags.
func (f *fetchFlags) fetcher() *source.Fetcher {
	return source.NewFetcher(source.Options{Named: f.hosts, Egress: egress.Options{
		UserAgent: "sallyport/" + host.Version(),
		Proxy:     func(u *url.URL) (*url.URL, error) { return http.ProxyFromEnvironment(&http.Request{URL: u}) },
	}})
}

// fetch fetches a reference under the policy of its source, with the hint of a failure.
func (f *fetchFlags) fetch(ctx context.Context, s *settings.Settings, r source.Ref) (*source.Artifact, error) {
	policy := source.PolicyFor(s.Sources, r.Moving())
	if policy.Refuse {
		return nil, ui.Hint(fmt.Errorf("%s: %w", r, source.ErrRefused), "sources: in %s names those that are allowed", s.File)
	}
	fetcher := f.fetcher()
	a, err := fetcher.Fetch(ctx, r)
	if err == nil && len(policy.Require) > 0 {
		err = fetcher.FetchBundles(ctx, r, a)
	}
	if err != nil {
		return nil, hinted(err)
	}
	signed, err := policy.Check(ctx, a, host.SignatureVerifier(s))
	if err != nil {
		return nil, unsigned(s, r, err)
	}
	a.Origin.Signer, a.Provenance = signed.By, signed.Provenance
	if signed.By == "" {
		witness := witnessed(ctx, s, fetcher, r, a)
		a.Origin.Witness, a.Provenance = witness.By, witness.Provenance
	}
	refused := func(module source.Ref) bool { return source.PolicyFor(s.Sources, module.Moving()).Refuse }
	if err := fetcher.FetchModule(ctx, r, a, refused); err != nil {
		return nil, hinted(err)
	}
	return a, nil
}

// witnessTime bounds the search for signatures that nobody requires.
const witnessTime = 20 * time.Second

// witnessed returns the signer of an artifact of which no signature is required. Nothing is asked of the source unless
// there is a trusted root to verify with, and a signature that cannot be fetched or verified is none.
func witnessed(ctx context.Context, s *settings.Settings, fetcher *source.Fetcher, r source.Ref, a *source.Artifact) source.Signed {
	if _, err := os.Stat(s.Text("trusted_root")); err != nil {
		return source.Signed{}
	}
	ctx, cancel := context.WithTimeout(ctx, witnessTime)
	defer cancel()
	if fetcher.FetchBundles(ctx, r, a) != nil {
		return source.Signed{}
	}
	return source.Witness(ctx, a, host.SignatureVerifier(s))
}

// fetchNamed fetches a reference that the entry of an index names; a nil entry is none.
func (f *fetchFlags) fetchNamed(ctx context.Context, s *settings.Settings, r source.Ref, entry *index.Entry) (*source.Artifact, error) {
	a, err := f.fetch(ctx, s, r)
	if err != nil || entry == nil {
		return a, err
	}
	if err := entry.Check(a); err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	a.Stem, a.Origin.Index, a.Origin.Entry = entry.Stem(), entry.Index, entry.Name
	return a, nil
}

// unsigned attaches the next step to the refusal of a signature.
func unsigned(s *settings.Settings, r source.Ref, err error) error {
	next := fmt.Sprintf("sources: in %s requires it", s.File)
	var refused *source.SignatureError
	if errors.As(err, &refused) {
		next = refused.Next
	}
	return ui.Hint(fmt.Errorf("%s: %w", r, err), "%s", next)
}

// hinted attaches the next step of a failed fetch.
func hinted(err error) error {
	var failed *source.Error
	if errors.As(err, &failed) && failed.Hint != "" {
		return ui.Hint(err, "%s", failed.Hint)
	}
	return err
}

// adding holds the flags of add.
type adding struct {
	fetchFlags
	indexFlags
	name    string
	replace bool
	wiring
}

func newAdd(std stdio) *cobra.Command {
	var a adding
	c := &cobra.Command{
		Use:   "add SOURCE [DIR]",
		Short: "install a plugin from a file, a folder, the web or an OCI registry, after showing what it is",
		Long: `Install a plugin from a file, a folder, https://…, oci://REGISTRY/NAME[:TAG][@DIGEST], or by its name in an index that
the configuration names (indexes:, see sallyport search). The plugin is fetched and shown: its tools, its wants with
their reasons, its size and digest. You are asked whether to install it, and for each want whether to grant it. If no
MCP client of yours starts a host on the folder yet, you are asked about each: an entry is added to its file, everything
else in it stays, and a backup is kept. The answers are read from the terminal, and from nowhere else.

Its bytes are pinned in the lock file with their source: sallyport list --outdated compares, sallyport update takes the
newer ones. Private registries use the logins and credential helpers of Docker.

Exit code 1: you said no, and nothing was changed.`,
		Args: words(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkClients(a.chosen); err != nil {
				return err
			}
			s, err := loadSettings(c, optional(args[1:]))
			if err != nil {
				return err
			}
			if a.server, err = launchedServer(c, s); err != nil {
				return err
			}
			return a.run(c.Context(), s, std, args[0])
		},
	}
	a.fetchFlags.flags(c)
	a.indexFlags.flags(c)
	c.Flags().StringVar(&a.name, "name", "", "`name` of the plugin, in place of that of its source")
	c.Flags().StringSliceVar(&a.chosen, "client", nil, "a `client` that is to start this host, without a question: "+clients.Names()+"; none asks about none")
	c.Flags().BoolVar(&a.replace, "replace", false, "also in place of a plugin of that name with another source")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// run fetches a plugin, shows it, asks, and installs it.
func (a *adding) run(ctx context.Context, s *settings.Settings, std stdio, from string) error {
	r, entry, err := a.find(ctx, s, a.fetcher(), from)
	if err != nil {
		return err
	}
	artifact, err := a.fetchNamed(ctx, s, r, entry)
	if err != nil {
		return err
	}
	std.detach(s)
	defer std.flush()
	c, err := install.Prepare(ctx, install.Options{Settings: s, Logger: logging.For(s, std.err), Artifact: artifact, Name: a.name, Replace: a.replace})
	if err != nil {
		return a.refusal(r, err)
	}
	defer c.Close()
	if entry != nil {
		c.Note = noteOf(*entry, c.Wants)
	}
	if err := installed(ctx, s, std, c); err != nil {
		return err
	}
	return a.wire(ctx, std)
}

// refusal attaches the next step to an error of install.Prepare.
func (a *adding) refusal(r source.Ref, err error) error {
	var claimed *install.ClaimedError
	var alike *install.AlikeError
	var name *install.NameError
	switch {
	case errors.Is(err, install.ErrInstalled):
		return ui.Hint(err, "sallyport list shows it; sallyport grant adds grants")
	case errors.As(err, &claimed):
		return ui.Hint(err, "--name gives this one another name; --replace puts it in place of the other, if that is its file")
	case errors.As(err, &alike), errors.As(err, &name):
		return ui.Hint(err, "--name NAME chooses its name")
	}
	return fmt.Errorf("%s: %w", r, err)
}

// installed asks about a candidate and installs it.
func installed(ctx context.Context, s *settings.Settings, std stdio, c *install.Candidate) error {
	head, text, err := candidateText(ctx, s, c)
	if err != nil {
		return err
	}
	if text = head + text; strings.Count(text, "\n") > maxUnrepeated {
		text += "\n" + head // a long description would move the source out of sight
	}
	question := fmt.Sprintf("install it as %s?", ui.Line(c.Name))
	if !c.New() {
		question = fmt.Sprintf("may %s serve with these bytes?", ui.Line(c.Name))
	}
	if err := agreed(ctx, std, text, question); err != nil {
		return err
	}
	grants, left, err := chosen(ctx, s, c)
	if err != nil {
		return err
	}
	committed := false
	noted := host.Change(s, func() error {
		err := c.Commit(ctx, grants)
		committed = err == nil
		return err
	}, host.Installed(consent.ByTerminal, c.Name, c.Description.Digest, c.Origin.From, grants)...)
	if !committed {
		return noted
	}
	return errors.Join(reportInstalled(s, std, c, grants, left), noted, carried(ctx, s, std, c))
}

// maxUnrepeated is the number of lines after which the source and the signer are shown again: those of a small terminal.
const maxUnrepeated = 24

// candidateText describes a plugin before it is installed: its source with its signer, and its description or the
// difference.
func candidateText(ctx context.Context, s *settings.Settings, c *install.Candidate) (head, body string, err error) {
	var text strings.Builder
	fmt.Fprintf(&text, "from    %s\n", ui.Line(c.Origin.From))
	if c.Origin.Digest != c.Description.Digest {
		fmt.Fprintf(&text, "        %s\n", c.Origin.Digest)
	}
	if o := c.Before.Origin; o != nil && o.From == c.Origin.From && o.Digest != c.Origin.Digest {
		fmt.Fprintf(&text, "was     %s\n        the source has other bytes now than when it was added\n", o.Digest)
	}
	switch {
	case c.Origin.Signer != "":
		fmt.Fprintf(&text, "signed  %s, as its source requires\n", ui.Line(c.Origin.Signer))
		writeProvenance(&text, c.Provenance)
	default:
		fmt.Fprintf(&text, "signed  no signature is required of this source\n")
		if c.Origin.Witness != "" {
			fmt.Fprintf(&text, "        %s signed it\n", ui.Line(c.Origin.Witness))
			writeProvenance(&text, c.Provenance)
		}
	}
	if o := c.Before.Origin; o != nil && o.By() != "" && o.By() != c.Origin.By() {
		fmt.Fprintf(&text, "signer? the bytes before were signed by %s\n", ui.Line(o.By()))
	}
	switch o := c.Before.Origin; {
	case isOlder(c) && c.Origin.Version == "":
		fmt.Fprintf(&text, "older?  it states no version, and %s was added before\n", ui.Line(o.Version))
	case isOlder(c):
		fmt.Fprintf(&text, "older   this is version %s, and %s was added before\n", ui.Line(c.Origin.Version), ui.Line(o.Version))
	case c.Returned:
		text.WriteString("older   these bytes were approved before, and replaced since\n")
	}
	writeWaiting(&text, s, c)
	text.WriteString(c.Note)
	fmt.Fprintf(&text, "into    %s\n\n", ui.Line(c.File))
	head = text.String()
	text.Reset()
	if !c.New() && c.Review != nil {
		review.Print(&text, c.Review, false)
		err := printEffects(ctx, &text, s, c.Review, false)
		return head, text.String(), err
	}
	d := *c.Description
	d.Imports = nil // those of its toolchain, mostly; inspect lists them
	err = printDescription(&text, &d, "")
	return head, text.String(), err
}

// isOlder reports whether a candidate states a version before that of the installed bytes, or none any more.
func isOlder(c *install.Candidate) bool {
	o := c.Before.Origin
	return o != nil && o.Version != "" && (c.Origin.Version == "" || older(c.Origin.Version, o.Version))
}

// writeWaiting describes the grants that the configuration has for a name before its plugin is installed from this source.
func writeWaiting(w io.Writer, s *settings.Settings, c *install.Candidate) {
	if o := c.Before.Origin; !c.New() && o != nil && o.From == c.Origin.From {
		return
	}
	for _, p := range s.Plugins {
		if p.Name != c.Name {
			continue
		}
		for _, line := range p.Grants.Lines() {
			fmt.Fprintf(w, "has     %s\n        by the configuration, as soon as it is installed\n", ui.Line(line.String()))
		}
	}
}

// writeProvenance describes the origin of the build, as far as the signer states it.
func writeProvenance(w io.Writer, p *sigstore.Provenance) {
	if p == nil {
		return
	}
	fmt.Fprintf(w, "built   from %s\n", ui.Line(strings.TrimRight(strings.Join([]string{p.Source, p.Ref, p.Commit}, " "), " ")))
	fmt.Fprintf(w, "        by %s, as the signer states\n", ui.Line(p.Builder))
}

// chosen asks which wants are granted, one by one.
func chosen(ctx context.Context, s *settings.Settings, c *install.Candidate) (grants, left []string, err error) {
	wants, left := grantable(s, c)
	for _, w := range wants {
		text := fmt.Sprintf("\n%s wants\n  - %s\n", ui.Line(c.Name), ui.Line(w.shown))
		if w.why != "" {
			text += "    # " + ui.Line(w.why) + "\n"
		}
		yes, err := confirmFirst(ctx, text, "grant it?")
		if err != nil {
			return nil, nil, err
		}
		if yes {
			grants = append(grants, w.line)
		} else {
			left = append(left, w.line)
		}
	}
	return grants, left, nil
}

// grantableWant is a want that is asked about.
type grantableWant struct {
	line  string
	shown string // as it would stand in the configuration
	why   string
}

// grantable returns the wants that can be granted with the installation, and as left those that the configuration cannot
// take. Those that are granted already are in neither.
func grantable(s *settings.Settings, c *install.Candidate) (wants []grantableWant, left []string) {
	for _, w := range c.Wants {
		line := strings.TrimSpace(w.Grants.String())
		addition, err := s.Add(c.Name, line)
		switch {
		case errors.Is(err, settings.ErrGranted):
		case err != nil, needsWorkspace(s, w):
			left = append(left, line)
		default:
			wants = append(wants, grantableWant{line, addition.Line, w.Why})
		}
	}
	return wants, left
}

// needsWorkspace reports whether a want uses {workspace}, and none is set.
func needsWorkspace(s *settings.Settings, w hostfuncs.Want) bool {
	_, uses := w.Grants.Lines().UsesWorkspace()
	return uses && s.Text("workspace") == ""
}

// reportInstalled prints the result and the next steps.
func reportInstalled(s *settings.Settings, std stdio, c *install.Candidate, grants, left []string) error {
	fmt.Fprintf(std.out, "%s is installed in %s\n", ui.Line(c.Name), ui.Line(s.Text("dir")))
	for _, line := range grants {
		fmt.Fprintf(std.out, "granted   %s\n", ui.Line(line))
	}
	for _, line := range left {
		fmt.Fprintf(std.out, "not yet   %s\n", ui.Line(host.GrantCommand(s, c.Name, line, true)))
	}
	if note := plugin.Problems(c.Description.Manifest.Wants, c.Description.Manifest); len(note) > 0 {
		fmt.Fprintf(std.out, "%s of it cannot be granted: sallyport inspect %s\n", ui.Count(len(note), "want"), shellword.Quoted(c.File))
	}
	return nextSteps(std.out, s)
}

// nextSteps prints the commands that make the plugin usable: secrets without a value, and a client.
func nextSteps(w io.Writer, s *settings.Settings) error {
	now, err := s.Reload()
	if err != nil {
		return err
	}
	unset, err := unsetSecrets(now)
	if err != nil {
		return err
	}
	for _, x := range unset {
		fmt.Fprintf(w, "next: %s\n", ui.Line(x.Next))
	}
	_, err = fmt.Fprintf(w, "next: hosts that run serve it at once; a client without one: %s\n",
		ui.Line(withFlags(s, "sallyport client-config CLIENT "+shellword.Quoted(s.Text("dir"))+" --write")))
	return err
}

// carried asks whether answers for the previous bytes hold for the new ones too.
func carried(ctx context.Context, s *settings.Settings, std stdio, c *install.Candidate) error {
	if c.New() || c.Review == nil {
		return nil
	}
	return carry(ctx, std.out, s, c.Review)
}
