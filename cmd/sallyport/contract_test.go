package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/extism"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
)

// The file lists every name that users, plugins and their authors depend on. -update writes it, so that each change of
// the contract is a line of a review.
func TestContract_listsEveryPublicName(t *testing.T) {
	var want []string
	want = append(want, commandLines(newRoot(stdio{in: strings.NewReader(""), out: io.Discard, err: io.Discard}))...)
	for _, k := range settings.Keys() {
		want = append(want, "key "+k.Name)
	}
	for _, k := range settings.PluginKeys() {
		want = append(want, "key plugins.NAME."+k.Name)
	}
	for _, name := range hostfuncs.Methods() {
		want = append(want, "host function "+name)
	}
	for _, f := range slices.Concat(native.HostFuncs(), extism.HostFuncs()) {
		want = append(want, fmt.Sprintf("import %s.%s %s -> %s", f.Module, f.Name, types(f.Params), types(f.Results)))
	}
	want = append(want, exported(t, filepath.Join("..", "..", "pdk", "go"))...)
	slices.Sort(want)
	text := strings.Join(want, "\n") + "\n"
	file := filepath.Join("..", "..", "docs", "contract.txt")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	have := strings.Split(strings.TrimSpace(string(got)), "\n")
	for _, line := range have {
		if !slices.Contains(want, line) {
			t.Errorf("removed or changed: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(have, line) {
			t.Errorf("not in docs/contract.txt (-update adds it): %s", line)
		}
	}
}

// commandLines returns a line for each command and each of its own flags.
func commandLines(c *cobra.Command) (lines []string) {
	lines = append(lines, "command "+c.UseLine())
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			lines = append(lines, fmt.Sprintf("flag %s --%s %s", c.CommandPath(), f.Name, f.Value.Type()))
		}
	})
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			lines = append(lines, commandLines(sub)...)
		}
	}
	return lines
}

var valueTypes = map[runtime.ValueType]string{0x7f: "i32", 0x7e: "i64", 0x7d: "f32", 0x7c: "f64"}

func types(all []runtime.ValueType) string {
	var names []string
	for _, v := range all {
		names = append(names, valueTypes[v])
	}
	return "(" + strings.Join(names, " ") + ")"
}

// exported returns the exported declarations of a Go package, one a line.
func exported(t *testing.T, dir string) (lines []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.FileExports(file) {
			continue
		}
		for _, d := range file.Decls {
			for _, one := range parts(d) {
				var b bytes.Buffer
				if err := printer.Fprint(&b, files, one); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, "pdk/go "+strings.Join(strings.Fields(b.String()), " "))
			}
		}
	}
	return slices.Compact(lines)
}

// parts returns the declarations of d without bodies and values.
func parts(d ast.Decl) (all []any) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && !ast.IsExported(receiver(d)) {
			return nil
		}
		d.Body = nil
		all = append(all, d)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				v.Values = nil
			}
			if _, ok := s.(*ast.ImportSpec); !ok {
				all = append(all, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{s}})
			}
		}
	}
	return all
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
