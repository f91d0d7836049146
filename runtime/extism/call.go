package extism

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// callFrom finds the call in the context of a host function, nil outside of one.
func callFrom(ctx context.Context) *call {
	c, _ := runtime.Attached(ctx).(*call)
	return c
}

// call is all that the kernel keeps for one request: the shared memory and what lies where in it,
// the plugin's variables, and the last HTTP answer. The guest runs on one goroutine, which has it
// to itself.
type call struct {
	arena *arena

	input, inputLength   uint64
	output, outputLength uint64
	failure              uint64 // the block of the error text, 0 if there is none

	vars     map[string][]byte
	varBytes int

	status  int32
	headers map[string]string
}

func newCall(limits runtime.Limits) *call {
	return &call{arena: newArena(limits.Memory)}
}

// begin forgets all but the variables and puts the input of the next export, given in parts, into a block.
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

// answer is a view of the output that the guest has set, empty if that does not lie in the memory.
func (c *call) answer() []byte {
	view, _ := c.arena.view(c.output, c.outputLength)
	return view
}

// maxFailure bounds the error text of a guest, in bytes: it becomes one message to the client.
const maxFailure = 4 << 10

// failureText is what the guest gave to error_set, empty if it gave nothing.
func (c *call) failureText() string {
	text := c.arena.contents(c.failure)
	if len(text) > maxFailure {
		text = text[:maxFailure]
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// text copies the block at an offset, which ends the guest if it is longer than max.
func (c *call) text(what string, offset uint64, max int) []byte {
	p := c.arena.contents(offset)
	if len(p) > max {
		runtime.Abort(&runtime.EndError{Kind: runtime.KindLimit,
			Message: fmt.Sprintf("%s has %d bytes, at most %d are allowed", what, len(p), max)})
	}
	return append([]byte(nil), p...)
}

// give makes a block for the guest, which ends it if there is no room.
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

// fault ends the guest: it did what the kernel does not allow.
func fault(format string, args ...any) {
	runtime.Abort(guestFault(format, args...))
}

func guestFault(format string, args ...any) *runtime.EndError {
	return &runtime.EndError{Kind: runtime.KindGuest, Message: fmt.Sprintf(format, args...)}
}
