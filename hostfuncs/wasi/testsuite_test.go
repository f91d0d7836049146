//go:build testsuite

package wasi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/overlay"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

var (
	suite  = flag.String("suite", "", "a checkout of the public wasi-testsuite, branch prod/testsuite-base")
	python = flag.String("python", "python3", "a Python with the package wasmtime")
)

// differing lists the tests of the suite that fail here, each with the rule of this implementation that it breaks.
var differing = map[string]string{
	"sock_shutdown-invalid_fd": "descriptor 3 is always open: each call has the folder /, so that its denials are explained",
}

// suiteCase is a test of the suite: a program, its world, and its expected end.
type suiteCase struct {
	file string
	Args []string          `json:"args"`
	Env  map[string]string `json:"env"`
	Root string            `json:"root"`
	Exit int               `json:"exit_code"`
	Out  *string           `json:"stdout"`
}

func (c suiteCase) name() string {
	return strings.TrimSuffix(filepath.Base(c.file), ".wasm")
}

// env returns the environment as NAME=VALUE.
func (c suiteCase) env() (env []string) {
	for k, v := range c.Env {
		env = append(env, k+"="+v)
	}
	return env
}

// ended reports how an end differs from the expected one; "" is a pass.
func (c suiteCase) ended(exit int, stdout string) string {
	switch {
	case exit != c.Exit:
		return fmt.Sprintf("exit code %d, want %d", exit, c.Exit)
	case c.Out != nil && stdout != *c.Out:
		return fmt.Sprintf("stdout %q, want %q", stdout, *c.Out)
	}
	return ""
}

// suiteRuntimes run a test, with its own copy of its root, and return how its end differs and its standard error.
var suiteRuntimes = []struct {
	name string
	run  func(t *testing.T, c suiteCase, root string) (differs, stderr string)
}{
	{"sallyport", func(t *testing.T, c suiteCase, root string) (string, string) { return c.here(t, root, false) }},
	{"overlay", func(t *testing.T, c suiteCase, root string) (string, string) { return c.here(t, root, true) }},
	{"wazero", func(t *testing.T, c suiteCase, root string) (string, string) {
		args := []string{"run"}
		for _, e := range c.env() {
			args = append(args, "-env="+e)
		}
		if root != "" {
			args = append(args, "-mount="+root+":/")
		}
		return c.process(t, wazeroCLI(t), append(append(args, c.file), c.Args...))
	}},
	{"wasmtime", func(t *testing.T, c suiteCase, root string) (string, string) {
		args := append(append([]string{"testdata/runwasmtime.py", c.file, root}, c.env()...), "--")
		return c.process(t, *python, append(args, c.Args...))
	}},
}

// here runs the test on this WASI, with its files as they are on the host, or with its writes held back.
func (c suiteCase) here(t *testing.T, root string, held bool) (string, string) {
	var tree wasi.Tree
	if root != "" {
		files := jail.New([]jail.Mount{{Host: root, Guest: "/"}}, everything{})
		defer files.Close()
		tree = files
		if held {
			o := overlay.New(files, overlay.Options{Scratch: t.TempDir()})
			defer o.Close()
			tree = o
		}
	}
	var stdout, stderr bytes.Buffer
	err := run(t, c.file, runtime.Limits{Deadline: time.Minute}, wasi.Options{
		Args: append([]string{filepath.Base(c.file)}, c.Args...), Env: c.env(), Tree: tree, Stdout: &stdout, Stderr: &stderr,
	})
	differs := c.ended(exitCode(err), stdout.String())
	if exitCode(err) < 0 {
		differs += ": " + err.Error()
	}
	return differs, stderr.String()
}

// process runs the test in another runtime.
func (c suiteCase) process(t *testing.T, program string, args []string) (string, string) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if _, isExit := errors.AsType[*exec.ExitError](cmd.Run()); cmd.ProcessState == nil {
		t.Fatalf("%v: did not run: %v", cmd, isExit)
	}
	return c.ended(cmd.ProcessState.ExitCode(), stdout.String()), stderr.String()
}

var builtWazero string

// wazeroCLI builds the command of the engine's module, once.
func wazeroCLI(t *testing.T) string {
	if builtWazero == "" {
		out := filepath.Join(t.TempDir(), "wazero")
		if text, err := exec.Command("go", "build", "-o", out, "github.com/tetratelabs/wazero/cmd/wazero").CombinedOutput(); err != nil {
			t.Fatalf("build wazero: %v\n%s", err, text)
		}
		builtWazero = out
	}
	return builtWazero
}

// TestSuite_passesWhatTheBestOtherPasses runs the public suite of WASI preview 1 on this WASI, on plain wazero and on
// wasmtime, and prints a table.
func TestSuite_passesWhatTheBestOtherPasses(t *testing.T) {
	wazeroCLI(t)
	passed := map[string]int{}
	cases := suiteCases(t)
	for _, c := range cases {
		row := make([]string, len(suiteRuntimes))
		for i, r := range suiteRuntimes {
			root := ""
			if c.Root != "" {
				root = t.TempDir()
				if err := os.CopyFS(root, os.DirFS(filepath.Join(filepath.Dir(c.file), c.Root))); err != nil {
					t.Fatal(err)
				}
			}
			differs, stderr := r.run(t, c, root)
			if row[i] = "failed"; differs == "" {
				row[i] = "passed"
				passed[r.name]++
			} else {
				t.Logf("%s on %s: %s\n%s", c.name(), r.name, differs, stderr)
			}
			if _, listed := differing[c.name()]; i < 2 && listed != (differs != "") {
				t.Errorf("%s on %s: listed as differing is %v, want %v", c.name(), r.name, listed, differs != "")
			}
		}
		t.Logf("| %s | %s | %s", c.name(), strings.Join(row, " | "), differing[c.name()])
	}
	for _, r := range suiteRuntimes {
		t.Logf("%s: %d of %d", r.name, passed[r.name], len(cases))
	}
	if least := max(passed["wazero"], passed["wasmtime"]) - len(differing); passed["sallyport"] < least {
		t.Errorf("got %d passed, want %d or more, as the better of the others but for what is listed", passed["sallyport"], least)
	}
}

// suiteCases returns the tests of all languages for preview 1.
func suiteCases(t *testing.T) (cases []suiteCase) {
	files, err := filepath.Glob(filepath.Join(*suite, "tests", "*", "testsuite", "wasm32-wasip1", "*.wasm"))
	if err != nil || len(files) < 70 {
		t.Fatalf("got %d tests below -suite %q, %v, want 70 or more", len(files), *suite, err)
	}
	for _, file := range files {
		c := suiteCase{file: file}
		raw, err := os.ReadFile(strings.TrimSuffix(file, ".wasm") + ".json")
		if err == nil {
			err = json.Unmarshal(raw, &c)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}
