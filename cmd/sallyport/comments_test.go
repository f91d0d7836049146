package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Comments use the terms of the field: a sentence's subject is a noun. Relative clauses that stand for a noun are
// counted, and words that only those need are refused.
var (
	word      = regexp.MustCompile(`[\pL\pN'_./-]+`)
	clause    = regexp.MustCompile(`(?i)\bwhat\b`)
	offTerms  = regexp.MustCompile(`(?i)\b(whoever|whatever|somebody|anew|once more|(is|are) another)\b`)
	directive = regexp.MustCompile(`^//(go:|line |nolint|export )`)
)

// maxClauses is the budget of clauses per thousand words. wazero has 0.3, net/http 0.2.
const maxClauses = 1

func TestComments_terms(t *testing.T) {
	var all terms
	eachSource(t, func(files *token.FileSet, name string, file *ast.File) {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if !directive.MatchString(c.Text) {
					all.add(t, files.Position(c.Pos()), c.Text)
				}
			}
		}
	})
	all.check(t, "comments", 100_000)
}

// Messages are the texts with spaces in the program and the bundled plugins. The conformance plugin's are the suite's.
func TestMessages_terms(t *testing.T) {
	var all terms
	eachSource(t, func(files *token.FileSet, name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "conformance") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
				all.add(t, files.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	})
	all.check(t, "messages", 10_000)
}

// terms counts words and clauses.
type terms struct{ words, clauses int }

func (a *terms) add(t *testing.T, at token.Position, text string) {
	t.Helper()
	a.words += len(word.FindAllString(text, -1))
	a.clauses += len(clause.FindAllString(text, -1))
	for _, found := range offTerms.FindAllString(text, -1) {
		t.Errorf("%s: %q: write the noun, or the field's verb", at, strings.ToLower(found))
	}
}

// check compares the clauses with the budget. There must be so many words, or the search looks in the wrong place.
func (a *terms) check(t *testing.T, of string, least int) {
	t.Helper()
	if a.clauses*1000 > maxClauses*a.words || a.words < least {
		t.Errorf("%d clauses with \"what\" in %d words of %s, want at most %d in 1000", a.clauses, a.words, of, maxClauses)
	}
	t.Logf("%d words of %s, %d clauses", a.words, of, a.clauses)
}

// eachSource parses every Go file of the repository but this one.
func eachSource(t *testing.T, f func(*token.FileSet, string, *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "build" || d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case filepath.Ext(name) != ".go" || d.Name() == "comments_test.go":
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil {
			f(files, name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
