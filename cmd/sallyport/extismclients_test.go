//go:build clients

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestClients_useExtismPlugins uses Extism plugins of both kinds with the TypeScript client and MCP Inspector.
func TestClients_useExtismPlugins(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		for _, version := range []string{"2026-07-28", "2025-11-25"} {
			t.Run(strings.Join([]string{"typescript", version, transport}, "/"), func(t *testing.T) {
				t.Parallel()
				spec, err := json.Marshal(struct {
					server
					Version   string `json:"version"`
					Transport string `json:"transport"`
					Packages  string `json:"packages"`
				}{reach(t, transport, extismFolder(t)), version, transport, npm(t) + "/"})
				if err != nil {
					t.Fatal(err)
				}
				out, errs, code := node(t, []string{"SALLYPORT_CLIENT=" + string(spec)}, filepath.Join("testdata", "clients", "extism.mjs"))
				if code != 0 || out != "ok all\n" {
					t.Errorf("exit code %d: %s\n%s", code, out, errs)
				}
			})
		}
		for _, era := range []string{"modern", "legacy"} {
			t.Run(strings.Join([]string{"inspector", era, transport}, "/"), func(t *testing.T) {
				t.Parallel()
				s := reach(t, transport, extismFolder(t))
				for _, i := range extismInspections() {
					if got := inspected(t, s, era, i.args...); got != i.want {
						t.Errorf("%q: got %s, want %s", i.args, got, i.want)
					}
				}
			})
		}
	}
}

// extismInspections are command lines of MCP Inspector, with the expected output.
func extismInspections() []struct {
	args []string
	want string
} {
	return []struct {
		args []string
		want string
	}{
		{[]string{"--method", "tools/list", "--strict"}, "letters-count notes-find"},
		{[]string{"--method", "tools/call", "--tool-name", "letters-count", "--tool-args-json", `{"text":"hello"}`}, "3 vowels"},
		{[]string{"--method", "tools/call", "--tool-name", "notes-find", "--tool-args-json", `{"text":"ff"}`}, "coffee"},
		{[]string{"--method", "prompts/list"}, "notes-describe"},
		{[]string{"--method", "prompts/get", "--prompt-name", "notes-describe", "--prompt-args", "note=tea"}, "What is tea?"},
		{[]string{"--method", "resources/list"}, "notes://all sallyport://plugins"},
		{[]string{"--method", "resources/templates/list"}, "notes://note/{name}"},
		{[]string{"--method", "resources/read", "--uri", "notes://note/tea"}, "the note tea"},
	}
}
