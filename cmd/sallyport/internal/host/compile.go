package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of the child process. The largest known plugins need a fifth of them.
const (
	maxMemory  = 4 << 30         // bytes of address space
	maxSeconds = 300             // seconds of processor time
	maxTime    = 5 * time.Minute // wall-clock deadline
	// maxComplaint is the limit of compiler output that is repeated, in bytes.
	maxComplaint = 4 << 10
	// maxPrepared is the input limit of the child process in bytes: a module of the largest size, rewritten.
	maxPrepared = 1 << 30
)

// longCompile is the delay after which a running compilation is logged.
const longCompile = time.Second

// sayIfLong logs after a delay that a module is being compiled, unless ended was called.
func sayIfLong(log *slog.Logger, after time.Duration) (ended func() bool) {
	return time.AfterFunc(after, func() {
		log.Info("a plugin is being compiled, which takes its time once: sallyport compile does it beforehand")
	}).Stop
}

// CompileCommand is the subcommand of this program that calls CompileModule. Its argument is the folder of compiled
// modules.
const CompileCommand = "compile-module"

// CompileRefused is the exit code of CompileCommand for an invalid module, with the reason on standard output. A crash
// exits with 2 and a trace for the log.
const CompileRefused = 65

// CompileInChild returns a function that compiles modules into a folder in a child process of this program: see
// runtime.EngineOptions.Compiler. If this program cannot be started again, the function compiles in this process.
func CompileInChild(cache string, log *slog.Logger) func(context.Context, []byte) error {
	return func(ctx context.Context, wasm []byte) error {
		defer sayIfLong(log, longCompile)()
		self, same := program()
		if !same {
			return runtime.Precompile(ctx, cache, wasm)
		}
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, self, CompileCommand, cache)
		cmd.Args[0] = os.Args[0] // the name it was started by, since self may be a path in /proc
		var reason, trace complaint
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(wasm), &reason, &trace
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("compile: it took too long: %w", context.Cause(ctx))
		case !errors.As(err, &exit):
			// The system does not run this program as a child, as under some emulators. The checks of the module before
			// compilation still bound the work.
			return runtime.Precompile(ctx, cache, wasm)
		case exit.ExitCode() == CompileRefused:
			return errors.New(reason.String())
		}
		log.Error("the compiler failed", "exit", exit.String(), "said", trace.String())
		return fmt.Errorf("the compiler cannot compile this module within its limits (%v)", exit)
	}
}

// complaint keeps the first maxComplaint bytes written to it.
type complaint struct{ bytes.Buffer }

func (t *complaint) Write(p []byte) (int, error) {
	t.Buffer.Write(p[:min(len(p), maxComplaint-min(maxComplaint, t.Len()))])
	return len(p), nil
}

// CompileModule compiles the module read from in, with limits on this process, which can open only the folder of compiled
// modules from then on: it is the body of CompileCommand. It reports whether the module is valid; if not, the reason is on
// out, and the process must exit with CompileRefused.
func CompileModule(ctx context.Context, cache string, in io.Reader, out io.Writer) (fine bool, err error) {
	limitProcess()
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return false, err
	}
	if err := confine("", cache); err != nil {
		return false, err
	}
	wasm, err := io.ReadAll(io.LimitReader(in, maxPrepared))
	if err != nil {
		return false, err
	}
	if err := runtime.Precompile(ctx, cache, wasm); err != nil {
		_, err = io.WriteString(out, err.Error())
		return false, err
	}
	return true, nil
}
