package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// step is one instruction to the guest "effects".
type step map[string]any

// effects returns the arguments of a call with these steps.
func effects(end string, steps ...step) map[string]any {
	return map[string]any{"steps": steps, "end": end}
}

// receiptOf returns the receipt in a result.
func receiptOf(t *testing.T, r *mcp.CallToolResult) (receipt struct {
	Call, Plugin, Digest, Outcome, Audit string
	Ms                                   float64
	Landed, Removed, Hidden              int
	Would                                []string
	Effects                              json.RawMessage
	Denials                              []struct{ Effect, Reason string }
}) {
	t.Helper()
	raw, err := json.Marshal(r.Meta["dev.sallyport/receipt"])
	if err == nil {
		err = json.Unmarshal(raw, &receipt)
	}
	if err != nil || receipt.Call == "" {
		t.Fatalf("no receipt: %s, %v", raw, err)
	}
	return receipt
}

// lineOf returns the guest's output of its n-th step.
func lineOf(t *testing.T, r *mcp.CallToolResult, n int) string {
	t.Helper()
	lines := strings.Split(text(r), "\n")
	if n >= len(lines) {
		t.Fatalf("no line %d in %q", n, text(r))
	}
	_, said, _ := strings.Cut(lines[n], ": ")
	return said
}

// ownState sets a separate state folder for a command.
func ownState(c *exec.Cmd, state string) {
	for i, a := range c.Args {
		if a == "--state" {
			c.Args[i+1] = state
		}
	}
	c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, lockVariable+"=") })
}

// compiledState returns a new state folder with the compiled plugins of a folder. They are compiled once for all tests.
func compiledState(t *testing.T, dir string) string {
	t.Helper()
	if out, err := program(t, "", "compile", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	state := filepath.Join(t.TempDir(), "state")
	copyCompiled(t, filepath.Join(sharedState(t), "state"), state)
	return state
}

// copyCompiled makes a state folder with the compiled code of another one. Files that programs remove meanwhile are left
// out: they use the other one at the same time.
func copyCompiled(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(from, "compiled"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() && strings.HasPrefix(d.Name(), "load-") { // of one process
			return fs.SkipDir
		}
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.WriteFile(target, content, 0o600))
	})
	if err := errors.Join(err, os.MkdirAll(to, 0o700)); err != nil {
		t.Fatal(err)
	}
}

func commandTransport(c *exec.Cmd) *mcp.CommandTransport { return &mcp.CommandTransport{Command: c} }
