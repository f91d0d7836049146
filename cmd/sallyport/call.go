package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
)

func newCall(std stdio) *cobra.Command {
	var lines []string
	var seed string
	var text, dry bool
	c := &cobra.Command{
		Use:   "call FILE TOOL [ARGUMENTS]",
		Short: "make one call without a client",
		Long: `Make one call without a client. ARGUMENTS are a JSON object, {} if left out; sallyport inspect FILE lists the tools:
  sallyport call files.wasm read '{"path":"a.md"}' --grant 'fs: read ~/notes/**'

The plugin may do only what --grant allows: the grants of sallyport.yaml are for serve. With --grant elicitation it may
ask you, and you answer at the terminal.

Limits are those of the configuration for all plugins, limits.deadline, limits.memory and limits.output. For one call
set their variables: SALLYPORT_LIMITS_DEADLINE=5s SALLYPORT_LIMITS_MEMORY=128MiB sallyport call …

The result is printed as JSON, or with --text as its texts. Exit code 1: the tool failed, with a result or with an error
of the protocol; 2: the host did, also where the tool asks you and there is no terminal.`,
		Args: words(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			arguments := "{}"
			if len(args) == 3 {
				arguments = args[2]
			}
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return callOnce(c.Context(), s, std, onePlugin{file: args[0], grants: lines, seed: seed, text: text, dry: dry}, args[1], arguments)
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return ui.Hint(err, "sallyport call --help lists the flags; limits are variables, such as SALLYPORT_LIMITS_DEADLINE=5s")
	})
	c.Flags().StringArrayVar(&lines, "grant", nil, "allow this `line`, such as 'fs: read ~/work/**'; repeat the flag for more lines")
	c.Flags().StringVar(&seed, "seed", "", "make the call the same each time: frozen clocks, and random numbers made of this `text`")
	c.Flags().BoolVar(&dry, "dry-run", false, "change nothing: the receipt names under would the effects of a real call")
	c.Flags().BoolVar(&text, "text", false, "print only the texts of the result")
	return c
}

// onePlugin is a plugin file that is loaded alone, with tools named without a prefix.
type onePlugin struct {
	file   string
	grants []string
	seed   string // "" uses real clocks and random numbers
	text   bool   // print the texts of the result instead of its JSON
	dry    bool   // commit no effect

	state runtime.State     // "" for the state that the plugin asks for
	web   http.RoundTripper // nil is the web
	keys  string            // the folder of its keys; "" is the state folder
}

// connect loads the plugin and returns a client of its host.
func (p onePlugin) connect(ctx context.Context, s *settings.Settings, std stdio) (*localClient, error) {
	h, err := p.open(ctx, s, std)
	if err == nil {
		return newLocalClient(h, std.err), nil
	}
	if h != nil {
		err = errors.Join(err, closeWithin(drain, h.Close))
	}
	return nil, err
}

// open loads the plugin. On some errors the host is returned too, and the caller must close it.
func (p onePlugin) open(ctx context.Context, s *settings.Settings, std stdio) (*host.Host, error) {
	allowed, err := grants(p.grants)
	if err != nil {
		return nil, err
	}
	bare := false
	config := registry.Config{Prefix: &bare, Grants: allowed, Limits: host.Limits(s, settings.Limits{}), Frozen: p.seed != "", Seed: p.seed, State: p.state}
	h, err := host.Open(ctx, host.Options{
		Settings: s, Logger: logging.For(s, std.err), Files: []registry.File{{Path: p.file, Config: config}}, Web: p.web, Keys: p.keys,
	})
	if err != nil {
		return nil, err
	}
	if err := h.Registry.Ready(ctx); err != nil {
		return h, err
	}
	if err := failure(h); err != nil {
		err = fmt.Errorf("%s: %w", p.file, err)
		if _, absent := os.Stat(p.file); absent != nil && filepath.Ext(p.file) == "" {
			err = ui.Hint(err, "name the file of the plugin, such as ~/plugins/%s.wasm", p.file)
		}
		return h, err
	}
	return h, nil
}

// failure returns the reason that a plugin of this host is not loaded.
func failure(h *host.Host) error {
	for _, p := range h.Registry.Plugins() {
		if p.State != registry.StateLoaded {
			return errors.New(p.Error)
		}
	}
	return nil
}

// callOnce loads a plugin for one call.
func callOnce(ctx context.Context, s *settings.Settings, std stdio, p onePlugin, tool, arguments string) (err error) {
	if _, err := jsonraw.ParseObject([]byte(arguments)); err != nil {
		return ui.Hint(fmt.Errorf("the arguments are no JSON object: %w", err), `write them as one word, such as '{"name":"value"}'`)
	}
	std.detach(s)
	c, err := p.connect(ctx, s, std)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	warnOfOthers(s, std, c.host.Registry.Plugins())
	return c.callTool(ctx, s, std, p, tool, arguments)
}

// callTool makes one call, whose questions a person at the terminal answers, and prints its result.
func (c *localClient) callTool(ctx context.Context, s *settings.Settings, std stdio, p onePlugin, tool, arguments string) error {
	person, nobody := ui.OpenTerminal()
	if nobody == nil {
		defer person.Close()
	}
	var wishes []string
	if p.dry {
		wishes = append(wishes, "dev.sallyport/dryRun")
	}
	r, err := c.request(ctx, "tools/call", callParams(tool, arguments, person != nil, wishes...), func(ctx context.Context, result json.RawMessage) (answers, bool, error) {
		std.flush() // before a question at the terminal
		return askPerson(ctx, person, result)
	})
	switch {
	case err != nil:
		return err
	case r.Err == nil:
		noteGrants(s, std, jsonraw.Get(r.Body, "result"), c.host.Registry.Plugins())
		std.flush()
		return printResult(std, r.Body, p.text)
	case r.Err.Code == jsonrpc.CodeMissingCapability && nobody != nil:
		return ui.Hint(fmt.Errorf("the tool asks you something: %w", nobody), "call it at a terminal, where you can answer")
	case r.Err.Foreign:
		fmt.Fprintf(std.err, "sallyport: the tool answered error %d: %s\n", r.Err.Code, ui.Lines(r.Err.Message))
		return exitCode(exitTool)
	}
	return refused(r.Err, p.file, tool, c.host.Registry.Plugins())
}

// refused converts a protocol error. For a tool that was left out it returns the reason, for an unknown one a hint.
func refused(e *jsonrpc.Error, file, tool string, plugins []registry.Status) error {
	if strings.HasPrefix(e.Message, "unknown tool") {
		for _, p := range plugins {
			for _, warning := range p.Warnings {
				if strings.HasPrefix(warning, fmt.Sprintf("tool %q is left out: ", tool)) {
					return errors.New("the plugin's " + ui.Line(warning))
				}
			}
		}
		return ui.Hint(errors.New(e.Message), "sallyport inspect %s lists the tools", file)
	}
	return fmt.Errorf("error %d: %s", e.Code, e.Message)
}

// callParams returns the params of a call. With asks they declare support for form elicitation.
func callParams(tool, arguments string, asks bool, wishes ...string) json.RawMessage {
	can := "{}"
	if asks {
		can = `{"elicitation":{"form":{}}}`
	}
	return requestParams(jsonraw.Object{{Key: "name", Value: jsonraw.AppendString(nil, tool)}, {Key: "arguments", Value: json.RawMessage(arguments)}}, can, wishes...)
}

// noteGrants notes on standard error, after a refusal, that the plugin's grants in the configuration do not apply to call.
func noteGrants(s *settings.Settings, std stdio, result []byte, plugins []registry.Status) {
	receipt := jsonraw.Get(jsonraw.Get(result, "_meta"), "dev.sallyport/receipt")
	if len(jsonraw.Get(receipt, "denials")) == 0 {
		return
	}
	for _, p := range plugins {
		for _, known := range s.Plugins {
			if known.Name == p.Name && len(known.Grants.Lines()) > 0 {
				fmt.Fprintf(std.err, "the grants of %s in %s are for serve: give this call its own with --grant\n", ui.Line(p.Name), ui.Line(s.File))
			}
		}
	}
}

// printResult prints the result as indented JSON, or its texts. A result with isError is exit code 1.
func printResult(std stdio, response []byte, text bool) error {
	result := jsonraw.Get(response, "result")
	if text {
		printTexts(std, result)
	} else {
		var out bytes.Buffer
		if err := json.Indent(&out, result, "", "  "); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%s\n", ui.JSON(out.Bytes()))
	}
	if bytes.Equal(jsonraw.Get(result, "isError"), []byte("true")) {
		return exitCode(exitTool)
	}
	return nil
}

// printTexts prints the texts of a result, the type of every other block, and the effects that a dry run held back.
func printTexts(std stdio, result []byte) {
	blocks, _ := jsonraw.Elements(jsonraw.Get(result, "content")) // the server has checked it
	for _, block := range blocks {
		if text, ok := jsonraw.String(jsonraw.Get(block, "text")); ok {
			fmt.Fprintln(std.out, ui.Lines(text))
			continue
		}
		kind, _ := jsonraw.String(jsonraw.Get(block, "type"))
		fmt.Fprintf(std.out, "[%s]\n", ui.Line(kind))
	}
	held, _ := jsonraw.Elements(jsonraw.Get(result, "_meta", "dev.sallyport/receipt", "would"))
	for _, effect := range held {
		line, _ := jsonraw.String(effect)
		fmt.Fprintf(std.out, "would %s\n", ui.Line(line))
	}
}

// grants parses the --grant lines of a command.
func grants(lines []string) (*grant.Set, error) {
	var all []grant.Grant
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			return nil, ui.Hint(err, "a grant is one line, such as --grant 'net: GET https://api.example.com/**'")
		}
		all = append(all, g)
	}
	return grant.NewSet(all...), nil
}
