package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/script"
)

// BundleCommand is the subcommand of this program that calls Bundle.
const BundleCommand = "bundle-script"

const (
	// bundleTime is the wall-clock deadline of one step, for two runs of the bundler at most.
	bundleTime = time.Minute
	// maxStack bounds the stack of one step, in bytes. Real code takes a hundredth of it.
	maxStack = 256 << 20
	// maxBundled bounds the output of one step, in bytes.
	maxBundled = 64 << 20
)

// BundleInChild runs one step of reading a script in a child process of this program: see script.Isolate.
func BundleInChild(args []string, input []byte) ([]byte, error) {
	self, same := program()
	if !same {
		return nil, errors.New("the file of this program was replaced: a script is read again after a restart")
	}
	ctx, cancel := context.WithTimeout(context.Background(), bundleTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, append([]string{BundleCommand}, args...)...)
	cmd.Args[0] = os.Args[0] // the name it was started by, since self may be a path in /proc
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout = bytes.NewReader(input), &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, errors.New("the bundler took too long")
	case !errors.As(err, &exit):
		return nil, fmt.Errorf("scripts are read in a process of their own, which cannot be started: %w", err)
	case exit.ExitCode() == CompileRefused:
		return nil, errors.New(out.String())
	}
	return nil, fmt.Errorf("the bundler cannot read this script within its limits (%v)", exit)
}

// Bundle runs one step of reading a script, with limits on this process, which can open only the folder of the script from
// then on: it is the body of BundleCommand. It reports whether the script is valid; if not, the reason is on out, and the
// process must exit with CompileRefused.
func Bundle(args []string, in io.Reader, out io.Writer) (fine bool, err error) {
	limitProcess()
	debug.SetMaxStack(maxStack)
	read, err := script.Reads(args)
	if err == nil {
		err = confine(read, "")
	}
	if err != nil {
		return false, err
	}
	result, err := script.Step(args, in)
	if err != nil {
		result = []byte(err.Error())
	}
	if len(result) > maxBundled {
		return false, errors.New("the result is too large")
	}
	_, failed := out.Write(result)
	return err == nil, failed
}
