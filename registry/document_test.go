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

	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

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
	if s := status(r, "broken_prompt"); s.State != StateFailed || s.Error != `line 3: "x" is no argument of this prompt` {
		t.Errorf("%+v", s)
	}
	if s := status(r, "code_review_prompt"); s.State != StateLoaded || s.Dialect != "text" || s.Prompts != 1 {
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
}

// A skill is published while its SKILL.md is.
func TestSkillFile(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("SKILL.md")
	if err == nil {
		_, err = f.Write([]byte("---\nname: hi\ndescription: Says hi.\n---\nx\n"))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "greeting.skill", b.Bytes())
	writeFile(t, dir, "broken.skill", []byte("x"))
	r := open(t, options(t, dir))
	if s := status(r, "broken"); s.State != StateFailed || !strings.Contains(s.Error, "no zip archive") {
		t.Errorf("%+v", s)
	}
	if s := r.Snapshot().Skills; len(s) != 1 || s[0].URI != "skill://hi/SKILL.md" {
		t.Fatalf("%+v, %+v", s, r.Plugins())
	}
	if err := r.Configure(map[string]Config{"greeting": {Hide: []string{"skill://hi/SKILL.md"}}}); err != nil {
		t.Fatal(err)
	}
	if s := r.Snapshot().Skills; len(s) != 0 {
		t.Errorf("a hidden skill is published: %+v", s)
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
			return strings.Contains(said(), `"`+c.want+`"`) && strings.HasPrefix(status(r, "hello_prompt").Error, c.problem)
		})
	}
	if err := os.Remove(filepath.Join(dir, "hello.prompt.md")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the prompt follows its file", func() bool { return said() == "" })
}
