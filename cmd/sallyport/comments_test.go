package main

import (
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
	words, clauses := 0, 0
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "build" || d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case filepath.Ext(name) != ".go" || filepath.Base(name) == "comments_test.go":
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if directive.MatchString(c.Text) {
					continue
				}
				words += len(word.FindAllString(c.Text, -1))
				clauses += len(clause.FindAllString(c.Text, -1))
				for _, found := range offTerms.FindAllString(c.Text, -1) {
					t.Errorf("%s: %q in a comment: write the noun, or the field's verb", files.Position(c.Pos()), strings.ToLower(found))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if clauses*1000 > maxClauses*words || words < 100_000 {
		t.Errorf("%d clauses with \"what\" in %d words of comments, want at most %d in 1000", clauses, words, maxClauses)
	}
	t.Logf("%d words, %d clauses", words, clauses)
}
