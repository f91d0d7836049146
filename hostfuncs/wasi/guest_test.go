package wasi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// program runs the main function of a module.
type program struct{}

func (program) Name() string { return "program" }

func (program) Serve(ctx context.Context, in *runtime.Instance, _ runtime.Request) (json.RawMessage, error) {
	_, err := in.Call(ctx, "_start")
	return nil, err
}

// goBuild builds a guest with the Go toolchain that runs the tests.
func goBuild(t *testing.T, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command(filepath.Join(goroot(t), "bin", "go"), append(args[:1:1], append([]string{"-o", out}, args[1:]...)...)...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: got %v, want success\n%s", cmd, err, text)
	}
	return out
}

func goroot(t *testing.T) string {
	t.Helper()
	text, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go toolchain: %v", err)
	}
	return strings.TrimSpace(string(text))
}

// run runs a guest to its end.
func run(t *testing.T, file string, l runtime.Limits, o wasi.Options) error {
	t.Helper()
	ctx := context.Background()
	e, err := runtime.NewEngine(ctx, &runtime.EngineOptions{Host: wasi.HostFuncs()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close(ctx) }()
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Compile(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	pool := runtime.NewPool(m, program{}, &runtime.PoolOptions{Limits: l})
	defer func() { _ = pool.Close(ctx) }()
	state := wasi.NewState(o)
	defer state.Close()
	_, err = pool.Call(ctx, runtime.Request{}, gate{state})
	return err
}

// exitCode returns the exit code of a guest, -1 if it did not exit.
func exitCode(err error) int {
	end, ok := errors.AsType[*runtime.EndError](err)
	switch {
	case err == nil:
		return 0
	case ok && end.Kind == runtime.KindExit:
		return int(end.Code)
	}
	return -1
}

func TestGuest_files(t *testing.T) {
	guest := goBuild(t, "build", "./testdata/files")
	dir := t.TempDir()
	files := jail.New([]jail.Mount{{Host: dir, Guest: "/workspace"}}, everything{})
	defer files.Close()
	var stdout, stderr bytes.Buffer
	err := run(t, guest, runtime.Limits{Deadline: time.Minute}, wasi.Options{
		Args: []string{"files", "one", "two"}, Env: []string{"PWD=/workspace"}, Tree: files,
		Stdin: strings.NewReader("from the host"), Stdout: &stdout, Stderr: &stderr,
	})
	if exitCode(err) != 7 || stdout.String() != "all well\n" || stderr.String() != "to the log\n" {
		t.Errorf("got %v, stdout and stderr\n%s%s\nwant exit code 7, all well, to the log", err, &stdout, &stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 { // the dangling link
		t.Errorf("got files %v left, want only the dangling link", left)
	}
}

// A Go guest with nonblocking standard streams continues to run while it waits for input.
func TestGuest_parksItsReader(t *testing.T) {
	guest := goBuild(t, "build", "./testdata/stdin")
	in, out := wasi.NewPipe(1<<10), wasi.NewPipe(1<<10)
	done := make(chan error)
	go func() {
		done <- run(t, guest, runtime.Limits{Deadline: time.Minute}, wasi.Options{Stdin: in, Stdout: out, Nonblock: true})
		_ = out.Close()
	}()
	answers := bufio.NewScanner(out)
	for _, line := range []string{"a", "b"} {
		_, _ = io.WriteString(in, line+"\n")
		if !answers.Scan() || answers.Text() != "got "+line {
			t.Fatalf("got answer %q, want got %s", answers.Text(), line)
		}
		if !answers.Scan() || answers.Text() != "tick" {
			t.Fatalf("while it waits for input: got %q, want tick", answers.Text())
		}
	}
	_ = in.Close()
	if !answers.Scan() || answers.Text() != "end 2" {
		t.Errorf("got answer %q, want end 2", answers.Text())
	}
	if err := <-done; exitCode(err) != 0 {
		t.Error(err)
	}
}

// A guest that waits for input that never arrives ends at its deadline.
func TestGuest_deadlineEndsAWait(t *testing.T) {
	guest := goBuild(t, "build", "./testdata/stdin")
	for _, nonblock := range []bool{false, true} {
		err := run(t, guest, runtime.Limits{Deadline: 500 * time.Millisecond},
			wasi.Options{Stdin: wasi.NewPipe(0), Nonblock: nonblock})
		end, ok := errors.AsType[*runtime.EndError](err)
		if !ok || end.Kind != runtime.KindDeadline {
			t.Errorf("nonblock %v: got %v, want a deadline", nonblock, err)
		}
	}
}

// Guests of other toolchains, which are part of the engine's module: C, Rust, TinyGo and Zig.
func TestGuest_otherToolchains(t *testing.T) {
	text, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Skip(err)
	}
	guests := filepath.Join(strings.TrimSpace(string(text)), "imports", "wasi_snapshot_preview1", "testdata")
	dir := t.TempDir()
	for _, name := range []string{"a-", "ab-"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(dir, "a-", strings.Repeat("n", i%50)+string(rune('a'+i/50))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"zig-cc", "cargo-wasi", "tinygo", "zig"} {
		t.Run(name, func(t *testing.T) {
			guest := filepath.Join(guests, name, "wasi.wasm")
			if _, err := os.Stat(guest); err != nil {
				t.Skip(err)
			}
			play := func(args ...string) string {
				files := jail.New([]jail.Mount{{Host: dir, Guest: "/"}}, everything{})
				defer files.Close()
				var out bytes.Buffer
				err := run(t, guest, runtime.Limits{}, wasi.Options{Args: append([]string{"wasi"}, args...), Tree: files, Stdout: &out, Stderr: &out})
				if exitCode(err) != 0 {
					t.Errorf("%q: got %v, want exit code 0\n%s", args, err, &out)
				}
				return out.String()
			}
			if got := play("ls", "."); strings.Count(got, "a-\n") != 1 || strings.Count(got, "ab-\n") != 1 {
				t.Errorf("ls: got %q, want a- and ab- once each", got)
			}
			if got := strings.Count(play("ls", "a-"), "\n"); got != 300 && got != 302 {
				t.Errorf("ls of a large folder: got %d lines, want 300 or 302", got)
			}
			if got := play("stat"); strings.Count(got, "false") != 4 {
				t.Errorf("isatty: got %q, want 4 times false", got)
			}
		})
	}
}
