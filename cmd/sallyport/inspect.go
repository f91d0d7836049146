package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

func newInspect(std stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect FILE",
		Short: "print a plugin's tools, resources, prompts and wants",
		Long: `Print a plugin's tools, resources, prompts and wants, from a .wasm file, a script (.ts, .js, .py), an Extism manifest, a
.prompt.md or a .skill. A packed file is not run, others are, without grants.`,
		Args: words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			d, err := describeFile(c.Context(), s, std, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return ui.WriteJSON(std.out, d)
			}
			known, _ := identity(s, d.Name, d.Digest)
			return printDescription(std.out, d, known)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// checkFile returns an error for a path that is no regular file.
func checkFile(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", ui.Line(file), fileid.Plain(err))
	case info.IsDir():
		return ui.Hint(fmt.Errorf("%s is a folder, not a regular file", ui.Line(file)), "name one file in it; sallyport list looks at a folder")
	case !info.Mode().IsRegular(): // opening a pipe would block
		return fmt.Errorf("%s: not a regular file", ui.Line(file))
	}
	return nil
}

// describeFile describes a plugin file. A module without a packed description is run without grants; its standard error
// goes to the log.
func describeFile(ctx context.Context, s *settings.Settings, std stdio, file string) (*plugin.Description, error) {
	if err := checkFile(file); err != nil {
		return nil, err
	}
	var keeps plugin.Residue
	ask := func(ctx context.Context, wasm []byte, d runtime.Dialect) (_ json.RawMessage, err error) {
		std.detach(s)
		defer std.flush()
		log := logging.For(s, std.err)
		h, err := host.Open(ctx, host.Options{Settings: s, Logger: log, Files: []registry.File{}})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, closeWithin(drain, h.Close)) }()
		if keeps, err = plugin.Rehearse(ctx, h.Engine, h.Gates, wasm, d); err != nil {
			log.Debug("the plugin could not be rehearsed", "error", err)
		}
		return plugin.NewDescriber(h.Engine, h.Gates)(ctx, wasm, d)
	}
	d, err := plugin.Inspect(ctx, file, host.Dialects(), ask)
	if err == nil {
		d.Keeps = keeps
	}
	return d, err
}

// residueText returns the line of inspect about state, "" if nothing is known.
func residueText(r plugin.Residue) string {
	switch r {
	case plugin.KeepsNothing:
		return "no state seen: calls with made-up arguments left memory as before; with state: call each call gets a clean instance, and no caller waits for another"
	case plugin.KeepsMemory:
		return "no state seen: calls with made-up arguments changed memory, but no later answer; with state: call each call gets a clean instance"
	case plugin.KeepsAnswers:
		return "state between calls: an answer to made-up arguments depends on earlier calls"
	}
	return ""
}

// printDescription prints a description, and the state of its digest.
func printDescription(w io.Writer, d *plugin.Description, known string) error {
	m := d.Manifest
	fmt.Fprintln(w, strings.TrimSpace(ui.Line(d.Name)+" "+ui.Line(m.Version)))
	if m.Name != "" && d.Name != m.Name {
		fmt.Fprintf(w, "calls itself %s\n", ui.Line(m.Name))
	}
	if m.Description != "" {
		ui.Indent(w, m.Description) // a line of it cannot be taken for one of ours
	}
	fmt.Fprintf(w, "\n%s\n%s\n", fileForm(d), d.Digest)
	if m.Server != nil {
		fmt.Fprintln(w, "a whole MCP server, run as")
		ui.Indent(w, commandLine(d.Name, m.Server))
	}
	if d.Source != nil {
		ui.Indent(w, "built from "+origin(d.Source)+", as the file says")
	}
	if d.Warm {
		fmt.Fprintln(w, "warms up once, before its first call")
	}
	if text := residueText(d.Keeps); text != "" {
		ui.Indent(w, text)
	}
	if known != "" {
		ui.Indent(w, known)
	}
	section(w, d, "tools", m.Tools, "name", "description")
	section(w, d, "resources", m.Resources, "uri", "description")
	section(w, d, "resource templates", m.Templates, "uriTemplate", "description")
	section(w, d, "prompts", m.Prompts, "name", "description")
	wants(w, m)
	if len(d.Imports) > 0 {
		fmt.Fprintln(w, "\nimports")
	}
	for _, name := range distinct(d.Imports) {
		fmt.Fprintf(w, "  %s\n", ui.Line(name))
	}
	problems(w, m)
	return nil
}

// commandLine returns the command line of a server, with its variables first.
func commandLine(name string, server json.RawMessage) string {
	var words []string
	env, _ := jsonraw.ParseObject(jsonraw.Get(server, "env"))
	for _, m := range env {
		text, _ := jsonraw.String(m.Value)
		words = append(words, m.Key+"="+shellword.Quoted(text))
	}
	program, _ := jsonraw.String(jsonraw.Get(server, "program"))
	words = append(words, shellword.Quoted(cmp.Or(program, name)))
	args, _ := jsonraw.Elements(jsonraw.Get(server, "args"))
	for _, raw := range args {
		text, _ := jsonraw.String(raw)
		words = append(words, shellword.Quoted(text))
	}
	return strings.Join(words, " ")
}

// fileForm describes the file: dialect, size, and whether it is packed.
func fileForm(d *plugin.Description) string {
	switch {
	case d.Dialect == plugin.TextDialect:
		return fmt.Sprintf("text without code, %d bytes", d.Size)
	case d.Packed:
		return fmt.Sprintf("%s dialect, %d bytes, packed", d.Dialect, d.Size)
	}
	return fmt.Sprintf("%s dialect, %d bytes, not packed; sallyport pack makes it list faster", d.Dialect, d.Size)
}

// problems lists entries that were left out or changed.
func problems(w io.Writer, m *manifest.Manifest) {
	all := m.Problems
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, "\nwarnings")
	for _, p := range all {
		ui.Indent(w, p)
	}
}

// section lists entries by name, with the first line of their descriptions.
func section(w io.Writer, d *plugin.Description, title string, entries []json.RawMessage, name, about string) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, e := range entries {
		n, _ := jsonraw.String(jsonraw.Get(e, name))
		text, _ := jsonraw.String(jsonraw.Get(e, about))
		first, _, _ := strings.Cut(text, "\n")
		fmt.Fprintf(w, "  %s%s\n", ui.Line(n), published(d, title, n))
		if first != "" {
			ui.Indent(w, first)
		}
	}
}

// published returns the public name of a tool or prompt, if it is not the default one.
func published(d *plugin.Description, title, name string) string {
	public, ok := d.Published[manifest.Key(manifest.Kind(strings.TrimSuffix(title, "s")), name)]
	if !ok || public == d.Name+"-"+name || public == name {
		return ""
	}
	return ", published as " + ui.Line(public)
}

// distinct sorts names and removes duplicates: Go's toolchain imports some functions twice.
func distinct(names []string) []string {
	sorted := slices.Sorted(slices.Values(names))
	return slices.Compact(sorted)
}

// wants lists the requested grants, as lines that could be granted, and the secrets of a command line.
func wants(w io.Writer, m *manifest.Manifest) {
	variables := plugin.SecretVariables(m)
	if len(m.Wants)+len(variables) == 0 {
		return
	}
	fmt.Fprintln(w, "\nwants (nothing of this is granted by itself)")
	for _, variable := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(w, "  - secret: %s {to: …}\n", ui.Line(variables[variable]))
		ui.Indent(w, "# the variable "+variable)
	}
	for _, e := range m.Wants {
		o, err := jsonraw.ParseObject(e)
		if err != nil {
			continue
		}
		why, _ := jsonraw.String(o.Get("why"))
		o.Delete("why")
		for _, m := range o {
			value, plain := jsonraw.String(m.Value)
			if !plain {
				value = string(m.Value)
			}
			if value == "" { // such as elicitation, which has no value
				fmt.Fprintf(w, "  - %s\n", ui.Line(m.Key))
				continue
			}
			fmt.Fprintf(w, "  - %s: %s\n", ui.Line(m.Key), ui.Line(value))
		}
		if why != "" {
			ui.Indent(w, "# "+why)
		}
	}
}
