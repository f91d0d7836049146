package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// Offered is a plugin that was fetched and examined, and is not installed.
type Offered struct {
	console.Offer        // without Seen
	Digest        string // of its bytes
	From          string // its source

	// Install installs it with grant lines, and returns a report.
	Install func(ctx context.Context, lines []string) (text string, err error)
	// Close removes what was fetched.
	Close func() error
}

// Offering fetches and examines the plugin of a link for a folder, as sallyport add does. The caller closes it.
type Offering func(ctx context.Context, s *settings.Settings, log *slog.Logger, link string) (*Offered, error)

// offerTime bounds the time to fetch and examine a plugin, while the page waits.
const offerTime = 4 * time.Minute

// offered prepares the plugin of a link for a host, and identifies what is shown of it.
func (h *backend) offered(ctx context.Context, host, link string) (*Offered, error) {
	all := h.members()
	i := slices.IndexFunc(all, func(m hostState) bool { return m.ID == host })
	if i < 0 {
		return nil, errors.New("no host serves that folder by now")
	}
	s, err := all[i].settings(h.settings.Text("state"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	o, err := h.offering(ctx, s, slog.New(slog.DiscardHandler), link)
	if err != nil {
		return nil, err
	}
	shown := []string{o.Name, o.Text, o.Digest, o.From}
	for _, w := range o.Wants {
		shown = append(shown, w.Line, w.Why)
	}
	o.Seen = named(shown...)
	return o, nil
}

// Offer shows the plugin of a link before it is installed.
func (h *backend) Offer(ctx context.Context, host, link string) (console.Offer, error) {
	o, err := h.offered(ctx, host, link)
	if err != nil {
		return console.Offer{}, err
	}
	return o.Offer, o.Close()
}

// Install installs the plugin of an Offer with some of its wants. It returns console.ErrChanged if something else
// was shown.
func (h *backend) Install(ctx context.Context, host, link, seen string, lines []string) (text string, err error) {
	if !h.installing.TryLock() {
		return "", errors.New("a plugin is being installed: try again when that has ended")
	}
	defer h.installing.Unlock()
	o, err := h.offered(ctx, host, link)
	if err != nil {
		return "", err
	}
	defer func() { _ = o.Close() }() // sallyport doctor --fix removes what is left
	if o.Seen != seen {
		return "", console.ErrChanged
	}
	for _, line := range lines {
		if !slices.ContainsFunc(o.Wants, func(w console.Wanted) bool { return w.Line == line }) {
			return "", fmt.Errorf("%s does not want %q: it is granted beside the installation", o.Name, line)
		}
	}
	ctx = context.WithoutCancel(ctx) // a page that is closed now does not leave half of it
	err = consent.Change(h.note, func() (err error) {
		text, err = o.Install(ctx, lines)
		return err
	}, Installed(consent.ByConsole, o.Name, o.Digest, o.From, lines)...)
	if err != nil {
		return "", err
	}
	return text, nil
}

// Installed returns an installation and its grants for the audit log.
func Installed(by, plugin, digest, from string, lines []string) []consent.Answered {
	all := []consent.Answered{{By: by, Answer: "add", Plugin: plugin, Digest: digest, What: from}}
	for _, line := range lines {
		all = append(all, Granted(by, plugin, line))
	}
	return all
}

// Granted returns a grant line for the audit log: of values of the configuration, which may be keys, it has the names.
func Granted(by, plugin, line string) consent.Answered {
	if g, err := grant.ParseLine(line); err == nil && g.Family == grant.Config {
		line = "config: " + strings.Join(slices.Sorted(maps.Keys(grant.Lines{g}.Config())), ", ")
	}
	return consent.Answered{By: by, Answer: "grant", Plugin: plugin, What: line}
}
