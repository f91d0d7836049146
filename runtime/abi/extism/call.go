package extism

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// callFrom returns the call of a host function's context, or nil outside of a call.
func callFrom(ctx context.Context) *call {
	c, _ := runtime.Attached(ctx).(*call)
	return c
}

// call is the kernel state of one request: the shared memory with its input, output and error, the plugin's variables,
// and the last HTTP response. Only the guest's goroutine uses it.
type call struct {
	arena *arena

	input, inputLength   uint64
	output, outputLength uint64
	failure              uint64 // offset of the error text, 0 if there is none

	vars     map[string][]byte
	varBytes int

	relists bool            // lists are read again after a change
	changed map[string]bool // notifications of the lists that have changed

	status  int32
	headers map[string]string
}

func newCall(limits runtime.Limits) *call {
	return &call{arena: newArena(limits.Memory)}
}

// begin resets all state except the variables, and stores the input of the next export, given in parts, in a block.
func (c *call) begin(input ...[]byte) error {
	c.reset()
	offset, n, ok := c.arena.putAll(input)
	if !ok {
		return &runtime.EndError{Kind: runtime.KindLimit, Message: "the request is too large for the plugin's memory"}
	}
	c.input, c.inputLength = offset, n
	return nil
}

func (c *call) reset() {
	c.arena.reset()
	c.input, c.inputLength, c.output, c.outputLength, c.failure = 0, 0, 0, 0, 0
}

// answer returns a view of the output set by the guest, empty if it is out of bounds.
func (c *call) answer() []byte {
	view, _ := c.arena.view(c.output, c.outputLength)
	return view
}

// maxFailure bounds the error text of a guest, in bytes: it becomes one message to the client.
const maxFailure = 4 << 10

// failureText returns the error text set by error_set, or "".
func (c *call) failureText() string {
	text := c.arena.contents(c.failure)
	if len(text) > maxFailure {
		text = text[:maxFailure]
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// text copies the block at an offset, and ends the guest if it is longer than max.
func (c *call) text(what string, offset uint64, max int) []byte {
	p := c.arena.contents(offset)
	if len(p) > max {
		runtime.Abort(&runtime.EndError{Kind: runtime.KindLimit,
			Message: fmt.Sprintf("%s has %d bytes, at most %d are allowed", what, len(p), max)})
	}
	return append([]byte(nil), p...)
}

// give allocates a block for the guest, and ends the guest if there is no room.
func (c *call) give(p []byte) uint64 {
	offset, ok := c.arena.put(p)
	if !ok {
		runtime.Abort(noRoom(len(p)))
	}
	return offset
}

func noRoom(n int) error {
	return &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("%d more bytes do not fit into the plugin's shared memory", n)}
}

// fault ends the guest for a violation of the kernel's contract.
func fault(format string, args ...any) {
	runtime.Abort(guestFault(format, args...))
}

func guestFault(format string, args ...any) *runtime.EndError {
	return &runtime.EndError{Kind: runtime.KindGuest, Message: fmt.Sprintf(format, args...)}
}
