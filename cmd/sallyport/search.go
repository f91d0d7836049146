package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/registry/index"
	"github.com/sallyport-mcp/sallyport/registry/source"
)

// indexFlags holds the flags of commands that look into indexes.
type indexFlags struct {
	addresses []string
}

func (f *indexFlags) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.addresses, "index", nil, "an `address` of an index, in place of those of the configuration")
}

// indexes returns the indexes of the flags, else those of the configuration.
func (f *indexFlags) indexes(s *settings.Settings) (all []index.Address, err error) {
	texts := f.addresses
	if len(texts) == 0 {
		texts = s.List("indexes")
	}
	for _, text := range texts {
		a, err := index.Parse(text)
		if err == nil && len(f.addresses) > 0 && !a.Fixed() { // the lock keeps it, for commands in other folders
			if text, err = filepath.Abs(text); err == nil {
				a, err = index.Parse(text)
			}
		}
		if err == nil && !a.Fixed() {
			err = fmt.Errorf("%q depends on the working directory: write the whole path", text)
		}
		if err != nil {
			return nil, fmt.Errorf("indexes: %w", err)
		}
		all = append(all, a)
	}
	return all, nil
}

// find returns the reference of a source, and for a name its entry in an index.
func (f *indexFlags) find(ctx context.Context, s *settings.Settings, fetcher *source.Fetcher, from string) (source.Ref, *index.Entry, error) {
	all, err := f.indexes(s)
	if err != nil {
		return source.Ref{}, nil, err
	}
	_, missing := os.Lstat(from)
	switch {
	case !isName(from), len(all) == 0:
		r, err := source.Parse(from)
		return r, nil, err
	case missing == nil:
		return source.Ref{}, nil, ui.Hint(fmt.Errorf("%s is a file here, and could be a name of an index too", from), ".%c%s is the file", filepath.Separator, from)
	}
	e, err := index.Find(ctx, fetcher, all, from)
	var ambiguous *index.AmbiguousError
	switch {
	case errors.As(err, &ambiguous):
		return source.Ref{}, nil, ui.Hint(err, "add one by its source")
	case errors.Is(err, index.ErrNotFound):
		return source.Ref{}, nil, ui.Hint(err, "sallyport search WORD looks for others; a file needs its path, as .%c%s", filepath.Separator, from)
	case err != nil:
		return source.Ref{}, nil, hinted(err)
	}
	return e.Ref(), &e, nil
}

// isName reports whether a source can be a name of an index: weather, or io.github.acme/weather of an MCP registry.
func isName(from string) bool {
	if strings.Contains(from, "://") || strings.ContainsAny(from, `\~`) || strings.HasPrefix(from, ".") || strings.HasPrefix(from, "/") || from == "" {
		return false
	}
	first, rest, slash := strings.Cut(from, "/")
	return slash && strings.Contains(first, ".") && rest != "" && !strings.Contains(rest, "/") || !slash && !strings.Contains(from, ".")
}

// noteOf returns the lines about the index that named a plugin, with the wants that it does not list.
func noteOf(e index.Entry, wants []hostfuncs.Want) string {
	text := fmt.Sprintf("index   %s, as %s\n", ui.Line(e.Index), ui.Line(e.Name))
	var lines []string
	for _, w := range wants {
		lines = append(lines, strings.TrimSpace(w.Grants.String()))
	}
	if e.Wants == nil {
		return text
	}
	for _, line := range e.Unlisted(lines) {
		text += fmt.Sprintf("        the index does not list that it wants %s\n", ui.Line(line))
	}
	return text
}

func newSearch(std stdio) *cobra.Command {
	var f fetchFlags
	var in indexFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "search [WORD]",
		Short: "find plugins by a word of their name or description, in the indexes of the configuration",
		Long: `Find plugins by a word of their name or description, in the indexes that the configuration names (indexes:) or --index:
a JSON file, one of the web, or with mcp+https://… a registry of MCP servers, of which those are shown that have an
image with a WebAssembly module. An index is a claim of its author: add shows the plugin itself.`,
		Args: words(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			all, err := in.indexes(s)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				return ui.Hint(errors.New("no index is named"), "indexes: in %s names them, or --index", s.Watched())
			}
			return search(c.Context(), std, f.fetcher(), all, index.Query{Word: optional(args)}, asJSON)
		},
	}
	f.flags(c)
	in.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// search prints the entries of all indexes. An index that fails is reported, and the others are searched.
func search(ctx context.Context, std stdio, f *source.Fetcher, all []index.Address, q index.Query, asJSON bool) error {
	entries := []index.Entry{}
	failed := false
	for _, a := range all {
		found, err := a.Search(ctx, f, q)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = true
			ui.Complain(std.err, hinted(err))
		}
		entries = append(entries, found.Entries...)
		for _, p := range found.Problems {
			fmt.Fprintf(std.err, "note: %s\n", ui.Line(p))
		}
	}
	var err error
	if asJSON {
		err = ui.WriteJSON(std.out, entries)
	} else {
		err = printEntries(std.out, entries)
	}
	if err == nil && failed {
		err = exitCode(exitError)
	}
	return err
}

func printEntries(w io.Writer, entries []index.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "nothing was found")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", ui.Line(e.Name), ui.Line(e.Version), ui.Line(e.From), ui.Line(e.Description))
	}
	return t.Flush()
}
