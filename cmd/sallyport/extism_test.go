package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// extismGuest builds the Extism plugin in testdata/extism/NAME, once, and does not pack it.
var extismGuest = once(func(t *testing.T, name string) string {
	out := filepath.Join(sharedState(t), "unpacked", name+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./"+name)
	cmd.Dir = filepath.Join("testdata", "extism")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
})

// extismFolder creates a plugin folder with one plugin of each kind; that of the first kind has a manifest.
func extismFolder(t *testing.T) string {
	t.Helper()
	dir := folder(t, extismGuest(t, "vowels"), extismGuest(t, "notes"))
	manifest := `{"wasm":[{"path":"vowels.wasm"}],"config":{"vowels":"lo"},"timeout_ms":5000}`
	if err := os.WriteFile(filepath.Join(dir, "letters.json"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestExtism_unmodifiedPluginsServeTheSDK uses unmodified plugins of both kinds with the official SDK's client.
func TestExtism_unmodifiedPluginsServeTheSDK(t *testing.T) {
	t.Parallel()
	s := connect(t, "", extismFolder(t))
	if got := text(call(t, s, "letters-count", map[string]any{"text": "hello"})); got != "3 vowels" {
		t.Errorf("the manifest's configuration is not the plugin's: %s", got)
	}
	r := call(t, s, "notes-find", map[string]any{"text": "ff"})
	if got := text(r); got != "coffee" || len(r.StructuredContent.(map[string]any)["found"].([]any)) != 1 {
		t.Errorf("got %s %v, want %q, 1", got, r.StructuredContent, "coffee")
	}
	if r := call(t, s, "notes-find", map[string]any{"text": ""}); !r.IsError || text(r) != "an empty text is everywhere" {
		t.Errorf("got %+v, want %q", r, "an empty text is everywhere")
	}
	p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "notes-describe", Arguments: map[string]string{"note": "tea"}})
	if err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "What is tea?" {
		t.Errorf("got %+v %v, want %q", p, err, "What is tea?")
	}
	for uri, want := range map[string]string{"notes://all": "milk\ntea\ncoffee", "notes://note/tea": "the note tea"} {
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || r.Contents[0].Text != want {
			t.Errorf("%s: got %+v %v, want %v", uri, r, err, want)
		}
	}
	for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "notes-describe"}, {Type: "ref/resource", URI: "notes://note/{name}"}} {
		c, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "note", Value: "t"}})
		if err != nil || len(c.Completion.Values) != 1 || c.Completion.Values[0] != "tea" {
			t.Errorf("%s: got %+v %v, want 1, %q", ref.Type, c, err, "tea")
		}
	}
}
