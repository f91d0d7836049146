// Package compiler compiles modules in another process, which has limits: the compiler may take any time and memory, and
// may crash.
package compiler

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

// What the process that compiles a module may use. The largest plugins that are known take a fifth of it.
const (
	maxMemory  = 4 << 30         // bytes of address space
	maxSeconds = 300             // of processor time
	maxTime    = 5 * time.Minute // in all
	// maxComplaint is how much of what the compiler says is repeated, in bytes.
	maxComplaint = 4 << 10
	// maxPrepared bounds what the compiling process reads: a module of the largest size, rewritten.
	maxPrepared = 1 << 30
)

// longCompile is when a person begins to wonder what goes on.
const longCompile = time.Second

// sayIfLong tells after a while that a module is being compiled, unless that has ended.
func sayIfLong(log *slog.Logger, after time.Duration) (ended func() bool) {
	return time.AfterFunc(after, func() {
		log.Info("a plugin is being compiled, which takes its time once: sallyport compile does it beforehand")
	}).Stop
}

// Command is the command of this program, with the folder of compiled modules behind it, that calls Module.
const Command = "compile-module"

// Refused is the exit code of that command when the module is at fault: the reason is on its standard output. A program
// that breaks ends with 2 and a trace, which is for the log.
const Refused = 65

// Elsewhere compiles modules into a folder in this program, run once more with limits: see
// runtime.EngineOptions.Compiler.
func Elsewhere(cache string, log *slog.Logger) func(context.Context, []byte) error {
	return func(ctx context.Context, wasm []byte) error {
		defer sayIfLong(log, longCompile)()
		self, same := program()
		if !same {
			return runtime.Precompile(ctx, cache, wasm)
		}
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, self, Command, cache)
		cmd.Args[0] = os.Args[0] // the name it was started by, which a path to a descriptor is not
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
			// A system that does not start this program again, such as an emulator. What was checked about the
			// module before still bounds the work.
			return runtime.Precompile(ctx, cache, wasm)
		case exit.ExitCode() == Refused:
			return errors.New(reason.String())
		}
		log.Error("the compiler failed", "exit", exit.String(), "said", trace.String())
		return fmt.Errorf("the compiler cannot compile this module within its limits (%v)", exit)
	}
}

// complaint keeps the beginning of what is written to it.
type complaint struct{ bytes.Buffer }

func (t *complaint) Write(p []byte) (int, error) {
	t.Buffer.Write(p[:min(len(p), maxComplaint-min(maxComplaint, t.Len()))])
	return len(p), nil
}

// Module compiles the module that is read from in. It is what the other process does, and bounds that process. It tells
// whether the module is fine; if not, the reason is on out, and the process is to end with Refused.
func Module(ctx context.Context, cache string, in io.Reader, out io.Writer) (fine bool, err error) {
	limitProcess()
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
