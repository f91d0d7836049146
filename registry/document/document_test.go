package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// readFile writes a document and reads it.
func readFile(t *testing.T, name string, content []byte) (*Document, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	d, _, err := Read(path)
	return d, err
}

func TestRead_servesAPrompt(t *testing.T) {
	d, err := readFile(t, "code review.prompt.md",
		[]byte("---\narguments: [{name: file, required: true}, {name: tone, values: [kind, strict]}]\n---\nReview {{file}}.\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, params, want string }{
		{"prompts/get", `{"arguments":{"file":"a.go"}}`, `{"messages":[{"role":"user","content":{"type":"text","text":"Review a.go."}}]}`},
		{"completion/complete", `{"argument":{"name":"tone","value":"s"}}`, `{"completion":{"values":["strict"]}}`},
	} {
		if got, err := d.Serve(t.Context(), c.method, json.RawMessage(c.params)); err != nil || string(got) != c.want {
			t.Errorf("%s %s: got %s, %v, want %v", c.method, c.params, got, err, c.want)
		}
	}
	var guest *runtime.GuestError
	_, err = d.Serve(t.Context(), "prompts/get", nil)
	if !errors.As(err, &guest) || guest.Code != jsonrpc.CodeInvalidParams || guest.Message != `the argument "file" is missing` {
		t.Errorf("got %v, want a GuestError, guest.Code = jsonrpc.CodeInvalidParams, error = \"the argument \"file\" is missing\"", err)
	}
}

// A skill publishes its SKILL.md as a resource, and its other files by a template.
func TestRead_servesASkill(t *testing.T) {
	d, err := readFile(t, "greeting.skill", pack(t, "SKILL.md", "---\nname: hi\ndescription: Says hi.\n---\nx\n", "a/b.bin", "\xff"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Skill.Name != "hi" || len(d.Manifest.Resources) != 1 || len(d.Manifest.Templates) != 1 {
		t.Errorf("got %+v, want d.Skill.Name = \"hi\", len(d.Manifest.Resources) = 1, len(d.Manifest.Templates) = 1", d)
	}
	for uri, want := range map[string]string{
		"skill://hi/SKILL.md": `{"contents":[{"mimeType":"text/markdown","text":"---\nname: hi\ndescription: Says hi.\n---\nx\n","uri":"skill://hi/SKILL.md"}]}`,
		"skill://hi/a/b.bin":  `{"contents":[{"blob":"/w==","mimeType":"application/octet-stream","uri":"skill://hi/a/b.bin"}]}`,
		"skill://hi/a":        "unknown resource",
	} {
		got, err := d.Serve(t.Context(), "resources/read", json.RawMessage(`{"uri":"`+uri+`"}`))
		if text := string(got); text != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %s, %v; want %s", uri, got, err, want)
		}
	}
}

func TestRead_refusesOtherFiles(t *testing.T) {
	for name, want := range map[string]string{"x.skill": "no zip archive", "x.prompt.md": "no argument", "x.md": "no prompt and no skill"} {
		if _, err := readFile(t, name, []byte("---\n---\n{{x}}\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if Is("x.md") || !Is("X.PROMPT.MD") || !Is("x.skill") {
		t.Errorf("Is of x.md, X.PROMPT.MD and x.skill: got %v, %v, %v; want false, true, true", Is("x.md"), Is("X.PROMPT.MD"), Is("x.skill"))
	}
}

// SKILL.md and short files are stored as text even if other files are too long.
func TestTerms_longFileDisplacesNoOther(t *testing.T) {
	const long = 500
	files := []string{"SKILL.md", "---\nname: hi\ndescription: Says hi.\n---\n" + strings.Repeat("y", 5000), "b.md", "short"}
	for i := range long {
		files = append(files, fmt.Sprintf("A%d.md", i), strings.Repeat("x", 9000))
	}
	d, err := Parse(pack(t, files...), "hi.skill")
	if err != nil {
		t.Fatal(err)
	}
	terms := d.Terms().Definitions
	for _, name := range []string{"SKILL.md", "b.md"} {
		if !bytes.Contains(terms["file "+name], []byte(`"text"`)) {
			t.Errorf("%s: got terms %s, want its text in them", name, terms["file "+name])
		}
	}
	if want := long + 2; len(terms) < want {
		t.Errorf("got %d terms, want %d", len(terms), want)
	}
}

// A file of one byte over the limit is not read.
func TestRead_refusesLargeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.skill")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), "over 32 MiB") {
		t.Errorf("got %v, want error with \"over 32 MiB\"", err)
	}
}
