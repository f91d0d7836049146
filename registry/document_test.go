package registry

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// documentStatus is the status of a plugin, the zero one if there is none.
func documentStatus(t *testing.T, r *Registry, name string) Status {
	t.Helper()
	for _, s := range r.Plugins() {
		if s.Name == name {
			return s
		}
	}
	return Status{}
}

func TestPromptFile(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "code review.prompt.md", []byte("---\narguments: [{name: file, required: true}, {name: tone, values: [kind, strict]}]\n---\nReview {{file}}.\n"))
	writeFile(t, dir, "broken.prompt.md", []byte("---\n---\n{{x}}\n"))
	writeFile(t, dir, "notes.md", []byte("no prompt"))
	o := options(t, dir)
	o.Plugins = map[string]Config{"second_prompt": {Hide: []string{"second"}}, "third_prompt": {Disabled: true}}
	writeFile(t, dir, "second.prompt.md", []byte("---\n---\nx\n"))
	writeFile(t, dir, "third.prompt.md", []byte("---\n---\nx\n"))
	r := open(t, o)
	if s := documentStatus(t, r, "broken_prompt"); s.State != StateFailed || s.Error != `line 3: "x" is no argument of this prompt` {
		t.Errorf("%+v", s)
	}
	if s := documentStatus(t, r, "code_review_prompt"); s.State != StateLoaded || s.Dialect != "text" || s.Prompts != 1 {
		t.Errorf("%+v", s)
	}
	if n := len(r.Snapshot().Prompts); n != 1 {
		t.Errorf("%d prompts", n)
	}
	p, ok := r.Snapshot().Prompt("code_review")
	if !ok {
		t.Fatalf("%+v", r.Snapshot().Prompts[0])
	}
	got, err := p.Get(t.Context(), catalogue.Call{Params: json.RawMessage(`{"name":"code_review","arguments":{"file":"a.go"}}`)})
	if want := `{"messages":[{"role":"user","content":{"type":"text","text":"Review a.go."}}]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	var guest *runtime.GuestError
	_, err = p.Get(t.Context(), catalogue.Call{})
	if !errors.As(err, &guest) || guest.Code != jsonrpc.CodeInvalidParams || guest.Message != `the argument "file" is missing` {
		t.Errorf("%v", err)
	}
	got, err = p.Complete(t.Context(), catalogue.Call{Params: json.RawMessage(`{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"tone","value":"s"}}`)})
	if err != nil || string(got) != `{"completion":{"values":["strict"]}}` {
		t.Errorf("%s, %v", got, err)
	}
}

// A skill file publishes its SKILL.md, and its other files by a template.
func TestSkillFile(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{"SKILL.md": "---\nname: hi\ndescription: Says hi.\n---\nx\n", "a/b.bin": "\xff"} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "greeting.skill", b.Bytes())
	writeFile(t, dir, "broken.skill", []byte("x"))
	r := open(t, options(t, dir))
	if s := documentStatus(t, r, "broken"); s.State != StateFailed || !strings.Contains(s.Error, "no zip archive") {
		t.Errorf("%+v", s)
	}
	if s := r.Snapshot().Skills; len(s) != 1 || s[0].URI != "skill://hi/SKILL.md" {
		t.Fatalf("%+v, %+v", s, r.Plugins())
	}
	for uri, want := range map[string]string{
		"skill://hi/SKILL.md": `{"contents":[{"mimeType":"text/markdown","text":"---\nname: hi\ndescription: Says hi.\n---\nx\n","uri":"skill://hi/SKILL.md"}]}`,
		"skill://hi/a/b.bin":  `{"contents":[{"blob":"/w==","mimeType":"application/octet-stream","uri":"skill://hi/a/b.bin"}]}`,
		"skill://hi/a":        "unknown resource",
	} {
		reader, ok := r.Snapshot().Resource(uri)
		if !ok {
			t.Errorf("%s is not there", uri)
			continue
		}
		got, err := reader.Read(t.Context(), catalogue.Call{Params: json.RawMessage(`{"uri":"` + uri + `"}`)})
		if text := string(got); text != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s, %v", uri, got, err)
		}
	}
}

// A prompt is followed as it is edited; what is wrong replaces nothing.
func TestPromptFile_Edited(t *testing.T) {
	dir := t.TempDir()
	r := open(t, options(t, dir))
	said := func() string {
		p, ok := r.Snapshot().Prompt("hello")
		if !ok {
			return ""
		}
		raw, _ := p.Get(t.Context(), catalogue.Call{})
		return string(raw)
	}
	for _, c := range []struct{ text, want, problem string }{
		{"---\n---\none\n", "one", ""},
		{"---\n---\ntwo\n", "two", ""},
		{"---\n---\n{{x}}\n", "two", "the new file does not serve, the old one does: line 3"},
	} {
		writeFile(t, dir, "hello.prompt.md", []byte(c.text))
		eventually(t, "the prompt follows its file", func() bool {
			return strings.Contains(said(), `"`+c.want+`"`) && strings.HasPrefix(documentStatus(t, r, "hello_prompt").Error, c.problem)
		})
	}
	if err := os.Remove(filepath.Join(dir, "hello.prompt.md")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the prompt follows its file", func() bool { return said() == "" })
}

// TestDocuments_large has files that are no longer than one byte over the bound: they are not read.
func TestDocuments_large(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.skill", "b.prompt.md"} {
		path := filepath.Join(dir, name)
		writeFile(t, dir, name, nil)
		if err := os.Truncate(path, maxDocument+1); err != nil {
			t.Fatal(err)
		}
	}
	r := open(t, options(t, dir))
	for _, name := range []string{"a", "b_prompt"} {
		if s := status(r, name); !strings.Contains(s.Error, "over 32 MiB") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
