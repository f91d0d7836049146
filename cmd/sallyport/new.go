package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

func newNew(std stdio) *cobra.Command {
	var lang, library string
	var list bool
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "write a small project in a new folder: a plugin with one tool, in the language of --lang",
		Args: func(c *cobra.Command, args []string) error {
			if list {
				return words(0, 0)(c, args)
			}
			return words(1, 1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			all := projects()
			if list {
				return listLanguages(std, all)
			}
			p, known := all[lang]
			if !known {
				return fmt.Errorf("--lang is one of %s", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
			}
			switch {
			case library == "":
			case lang != "go" && lang != "tinygo":
				return fmt.Errorf("--pdk is for --lang go and tinygo")
			default:
				text, err := goMod(library)
				if err != nil {
					return err
				}
				maps.DeleteFunc(p.files, func(file, _ string) bool { return strings.HasPrefix(file, "sallyport/") })
				p.files["go.mod"] = text
			}
			return writeProject(std, args[0], p)
		},
	}
	c.Flags().StringVar(&lang, "lang", "ts", "`language`: one of those that --list names")
	c.Flags().StringVar(&library, "pdk", "", "`folder` pdk/go of a clone of Sallyport, for --lang go and tinygo, in place of the library that the project has inside")
	c.Flags().BoolVar(&list, "list", false, "list the languages, and the tools of each that this machine has")
	return c
}

// listLanguages prints a line for each language, and how to get the tools that are missing.
func listLanguages(std stdio, all map[string]project) error {
	for _, lang := range slices.Sorted(maps.Keys(all)) {
		state := "needs no tools"
		if len(all[lang].needs) > 0 {
			state = cmp.Or(all[lang].missing(), "ready")
		}
		if _, err := fmt.Fprintf(std.out, "%-14s %s\n", lang, state); err != nil {
			return err
		}
	}
	return nil
}

// missing names the tools that this machine lacks, and how to get each; "" if it has all.
func (p project) missing() string {
	var tools []string
	for _, t := range p.needs {
		if path, err := exec.LookPath(t.program); err != nil || t.present != nil && !t.present(path) {
			tools = append(tools, t.program+": "+t.install)
		}
	}
	if len(tools) == 0 {
		return ""
	}
	return "missing: " + strings.Join(tools, "; ")
}

// writeProject writes a project into a new folder. A folder that exists is left alone.
func writeProject(std stdio, dir string, p project) error {
	name := filepath.Base(dir)
	if err := manifest.CheckName(name); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already", ui.Line(dir))
	} else if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(p.files)) {
		path := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(file, "NAME", name)))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(p.text(file, name)), 0o644); err != nil {
			return err
		}
		if !strings.HasPrefix(file, "sallyport/") {
			fmt.Fprintf(std.out, "wrote %s\n", ui.Line(path))
		}
	}
	if missing := p.missing(); missing != "" {
		fmt.Fprintln(std.out, missing)
	}
	_, err := io.WriteString(std.out, strings.NewReplacer("DIR", ui.Line(shellword.Quoted(dir)), "NAME", name).Replace(p.next))
	return err
}
