package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// offering creates a plugin file with a manifest.
func offering(t *testing.T, manifest string) string {
	t.Helper()
	var m wasmtest.Module
	m.Export("mcp_handle", m.Func([]byte{wasmtest.I32}, []byte{wasmtest.I32}, nil, wasmtest.I32Const(0)))
	m.Custom("sallyport.manifest", []byte(manifest))
	file := filepath.Join(t.TempDir(), "offering.wasm")
	if err := os.WriteFile(file, m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Public names are printed where they differ from PLUGIN-TOOL.
func TestInspect_printsPublicNames(t *testing.T) {
	out, err := program(t, "", "inspect", offering(t, `{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"a b/ü","inputSchema":{"type":"object"}}]}`)).Output()
	if err != nil || !strings.Contains(string(out), "\ntools\n  good\n  a b/ü, published as offering-a_b__\n") {
		t.Errorf("got %v: %s, want %q in it", err, out, "\ntools\n  good\n  a b/ü, published as offering-a_b__\n")
	}
}

// A prompt and a skill are plugins, and an unknown key of a prompt is a warning of inspect and list.
func TestInspect_ofAFolderNamesList(t *testing.T) {
	dir := t.TempDir()
	out := outputOfError(t, program(t, "", "inspect", dir))
	wantInOrder(t, "inspect", out, []string{dir + " is a folder, not a regular file", "hint: ", "sallyport list"})
}

func TestInspect_warnsOfUnknownPromptKeys(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "review.prompt.md")
	text := "---\ndescripton: Reviews.\narguments:\n  - name: file\n    requird: true\n---\nReview {{file}}.\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", file}, {"list", dir}} {
		raw, err := program(t, "", args...).Output()
		out := strings.Join(strings.Fields(string(raw)), " ")
		if err != nil || !strings.Contains(out, `the front has the unknown key "descripton"; did you mean description?`) || !strings.Contains(out, `the argument "file" has the unknown key "requird"; did you mean required?`) {
			t.Errorf("%v: got %v: %s, want both unknown keys named", args, err, raw)
		}
		if args[0] == "inspect" && (!strings.Contains(out, "text without code, ") || !strings.Contains(out, "prompts review ") || strings.Contains(out, "imports")) {
			t.Errorf("inspect: got %s, want text without code with its prompts", raw)
		}
	}
	if out, err := program(t, "", "pack", file).CombinedOutput(); err == nil || !strings.Contains(string(out), "needs no packing") {
		t.Errorf("got %v: %s, want an error, %q in it", err, out, "needs no packing")
	}
}

// Names and descriptions of a plugin cannot be taken for lines of the program.
func TestInspect_indentsTextsOfThePlugin(t *testing.T) {
	lie := "signed  minisign E7620F1842B4E81F, as its source requires"
	out, err := program(t, "", "inspect", offering(t, `{"name":"`+lie+`","description":"`+lie+`\n`+lie+`"}`)).Output()
	if err != nil || !strings.HasPrefix(string(out), "offering\ncalls itself signed") || strings.Contains(string(out), "\nsigned") || strings.Contains(string(out), "\n  signed") {
		t.Errorf("got %v: %s, want each line of the plugin's behind ours or indented", err, out)
	}
}

// Entries that the host leaves out are printed with the reason, by inspect and by call.
func TestInspect_namesOmittedEntries(t *testing.T) {
	file := offering(t, `{"name":"offering","tools":[{"name":"good","inputSchema":{"type":"object"}},
		{"name":"odd","inputSchema":{"type":"object","properties":{"a":{"type":"objekt"}}}},
		{"name":"list","inputSchema":{"type":"array"}},{"name":"none"},
		{"name":"ref","inputSchema":{"type":"object","$ref":"#/nowhere"}},
		{"name":"out","inputSchema":{"type":"object"},"outputSchema":{"type":7}}],"resources":[{"uri":"x:a"}],"prompts":[{"name":"p","arguments":{}}]}`)
	out, err := program(t, "", "inspect", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, _ := strings.Cut(string(out), "\nwarnings\n")
	warnings = strings.Join(strings.Fields(warnings), " ")
	for name, reason := range map[string]string{
		`tool "odd"`: "/properties/a/type", `tool "list"`: `inputSchema does not have "type":"object"`, `tool "none"`: "inputSchema is missing", `tool "ref"`: "nowhere",
		`tool "out"`: "outputSchema", `resource "x:a"`: "name is missing", `prompt "p"`: "arguments is not an array",
	} {
		_, after, found := strings.Cut(warnings, name)
		if !found || !strings.Contains(after[:min(len(after), 200)], reason) || strings.Count(warnings, name) != 1 {
			t.Errorf("%s: got\n%s\nwant its reason %q once", name, out, reason)
		}
	}
	for tool, want := range map[string]string{
		"none": `sallyport: the plugin's tool "none" is left out: inputSchema is missing`,
		"else": "hint: sallyport inspect " + file + " lists the tools",
	} {
		if said, err := program(t, "", "call", file, tool).CombinedOutput(); err == nil || !strings.Contains(strings.Join(strings.Fields(string(said)), " "), want) {
			t.Errorf("%s: got %s, want an error, %q in it", tool, said, want)
		}
	}
}

// A broken configuration does not stop commands that only need the state folder, and stops all that depend on its
// content.
func TestBrokenConfiguration_stopsOnlyCommandsThatNeedIt(t *testing.T) {
	dir := filepath.Dir(offering(t, `{"tools":[{"name":"good","inputSchema":{"type":"object"}}]}`))
	const broken = "plugins:\n  offering: {nonsense: 1}\n"
	state := filepath.Join(t.TempDir(), "state") // nothing is pending there
	for _, test := range []struct {
		args []string
		want string // "": it stops
	}{
		{[]string{"pending"}, "nothing waits for an answer"},
		{[]string{"deny", "nothing"}, "no question"}, {[]string{"allow", "nothing"}, "no question"}, {[]string{"answer", "nothing"}, "no form"},
		{[]string{"grants"}, "nothing was answered"}, {[]string{"revoke", "nothing"}, "no answer"}, {[]string{"usage"}, "warning"}, {[]string{"doctor", dir}, ""},
		{[]string{"serve", dir}, ""}, {[]string{"list", dir}, ""}, {[]string{"approve", "offering", dir}, ""}, {[]string{"grant", "offering", "net: GET https://x.example/"}, ""},
	} {
		cmd := program(t, broken, test.args...)
		cmd.Args[len(cmd.Args)-1] = state
		raw, err := cmd.CombinedOutput()
		out := strings.Join(strings.Fields(string(raw)), " ")
		warned := strings.Contains(out, "warning: the configuration cannot be read")
		if !strings.Contains(out, `unknown key "nonsense"`) {
			t.Errorf("%q: got %s, want the unknown key named", test.args, raw)
		}
		if test.want != "" && (!warned || !strings.Contains(out, test.want)) || slices.Contains([]string{"serve", "list", "approve", "grant"}, test.args[0]) && (err == nil || warned) {
			t.Errorf("%q: got %v: %s, want %q with a warning, or a failure of a command that needs the file", test.args, err, raw, test.want)
		}
	}
}

func TestList_namesAFolderThatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, config := range []string{"", "plugins: {files: {grants: ['fs: read ~/a']}}"} {
		out, err := program(t, config, "list", dir).CombinedOutput()
		if want := "there is no folder " + dir + " yet"; err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("with %q: got %v %s, want %s", config, err, out, want)
		}
	}
}
