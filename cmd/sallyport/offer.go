package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/install"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// offered prepares the plugin of a link for the page of the console, as add does.
func offered(ctx context.Context, s *settings.Settings, log *slog.Logger, link string) (*host.Offered, error) {
	c, err := candidateOf(ctx, s, log, link)
	if next := ui.NextStep(err); next != "" {
		if strings.HasPrefix(next, "--") {
			next = "sallyport add " + next
		}
		return nil, fmt.Errorf("%w (%s)", err, next)
	}
	if err != nil {
		return nil, err
	}
	if !c.New() && c.Review != nil {
		err := fmt.Errorf("other bytes of %s are approved: sallyport update shows the difference, and sallyport add that of another source", c.Name)
		return nil, errors.Join(err, c.Close())
	}
	head, text, err := candidateText(ctx, s, c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	o := &host.Offered{Digest: c.Description.Digest, From: c.Origin.From, Close: c.Close}
	o.Name, o.Text, o.Wants = c.Name, head+text, []console.Wanted{}
	wants, left := grantable(s, c)
	for _, w := range wants {
		o.Wants = append(o.Wants, console.Wanted{Line: w.line, Why: w.why})
	}
	o.Install = func(ctx context.Context, lines []string) (string, error) {
		if err := c.Commit(ctx, lines); err != nil {
			return "", err
		}
		for _, w := range o.Wants {
			if !slices.Contains(lines, w.Line) {
				left = append(left, w.Line)
			}
		}
		var report strings.Builder
		err := reportInstalled(s, stdio{out: &report, err: io.Discard}, c, lines, left)
		return report.String(), err
	}
	return o, nil
}

// candidateOf fetches and examines the plugin of a link.
func candidateOf(ctx context.Context, s *settings.Settings, log *slog.Logger, link string) (*install.Candidate, error) {
	var a adding
	r, entry, err := a.find(ctx, s, a.fetcher(), link)
	if err != nil {
		return nil, err
	}
	if r.Local() {
		return nil, errors.New("this is no link: write https://…, oci://… or a name of an index, and add a file with sallyport add")
	}
	artifact, err := a.fetchNamed(ctx, s, r, entry)
	if err != nil {
		return nil, err
	}
	c, err := install.Prepare(ctx, install.Options{Settings: s, Logger: log, Artifact: artifact})
	if err != nil {
		return nil, a.refusal(r, err)
	}
	if entry != nil {
		c.Note = noteOf(*entry, c.Wants)
	}
	return c, nil
}
