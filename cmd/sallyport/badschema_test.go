//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// A tool with an invalid schema is left out; inspect and list both name it and the reason.
func TestInspect_namesAnInvalidSchema(t *testing.T) {
	const reason = `tool "bad" is left out: inputSchema: schema: /properties/a/type: is no valid schema: want one of`
	dir := t.TempDir()
	file := filepath.Join(dir, "schemas.wasm")
	put(t, file, wasmtest.Answering(`{"result":{"tools":[{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"integr"}}}},
		{"name":"good","inputSchema":{"type":"object"}}]}}`).Bytes())
	out, err := program(t, "", "inspect", file).Output()
	said := strings.Join(strings.Fields(string(out)), " ")
	if err != nil || !strings.Contains(said, reason) || !strings.Contains(said, "good") {
		t.Errorf("inspect says %s, %v", out, err)
	}
	if warnings := fmt.Sprint(statusIn(t, dir, "schemas")["warnings"]); !strings.Contains(warnings, reason) {
		t.Errorf("list says %s", warnings)
	}
	s := connect(t, "", dir)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "schemas-good" {
		t.Errorf("listed: %+v, %v", list, err)
	}
}
