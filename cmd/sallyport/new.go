package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/script"
)

// project is the content of a new project in one language: texts by file name, in which NAME is that of the plugin.
type project map[string]string

// hello is the first tool of a new script.
const hello = "import { tool } from \"sallyport\";\n\n" +
	"tool(\"hello\", \"Greets someone.\", { name: \"string who to greet\" }, ({ name }) => `Hello, ${name}!`);\n"

// compilerOptions are those of an editor's checker: no Node, and the web API for the globals.
const compilerOptions = `{
  "compilerOptions": {
    "target": "ES2023", "module": "ESNext", "moduleResolution": "bundler", "lib": ["ES2023", "DOM", "DOM.Iterable"], "types": [],
    "strict": true, "checkJs": true, "noEmit": true, "allowImportingTsExtensions": true, "resolveJsonModule": true, "skipLibCheck": true
  }
}
`

// projects returns the new projects by language.
func projects() map[string]project {
	return map[string]project{
		"ts": {"NAME.ts": hello, "sallyport.d.ts": script.Types(), "tsconfig.json": compilerOptions},
		"js": {"NAME.js": hello, "sallyport.d.ts": script.Types(), "jsconfig.json": compilerOptions},
	}
}

func newNew(std stdio) *cobra.Command {
	var lang string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "write a small project in a new folder: a script with one tool, and its types for editors",
		Args:  words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			files, known := projects()[lang]
			if !known {
				return fmt.Errorf("--lang is one of %s", strings.Join(slices.Sorted(maps.Keys(projects())), ", "))
			}
			return writeProject(std, args[0], files)
		},
	}
	c.Flags().StringVar(&lang, "lang", "ts", "`language`: ts or js")
	return c
}

// writeProject writes a project into a new folder. A folder that exists is left alone.
func writeProject(std stdio, dir string, files project) error {
	name := filepath.Base(dir)
	if err := manifest.CheckName(name); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already", ui.Line(dir))
	} else if err != nil {
		return err
	}
	main := ""
	for _, file := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, strings.Replace(file, "NAME", name, 1))
		if err := os.WriteFile(path, []byte(files[file]), 0o644); err != nil {
			return err
		}
		if file != strings.Replace(file, "NAME", "", 1) {
			main = path
		}
		fmt.Fprintf(std.out, "wrote %s\n", ui.Line(path))
	}
	fmt.Fprintf(std.out, "try it, then serve it; it is loaded again whenever it is saved:\n  sallyport call %s hello '{\"name\": \"you\"}'\n  sallyport serve %s\n", ui.Line(main), ui.Line(dir))
	return nil
}
