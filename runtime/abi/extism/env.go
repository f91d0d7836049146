package extism

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// maxName bounds the name of a variable or of a configuration value, in bytes.
	maxName = 64 << 10
	// maxVars bounds the variables of one call including their names, in bytes; it is Extism's own default. Each
	// variable counts varOverhead more.
	maxVars     = 1 << 20
	varOverhead = 40
	// maxLog bounds a log message, in bytes; longer ones are cut.
	maxLog = 8 << 10
)

// Configured is implemented by a runtime.Gate with configuration for the plugin.
type Configured interface {
	// Config returns a configuration value, and false if the name is unknown.
	Config(name string) (string, bool)
}

// envFuncs returns the kernel's functions for configuration, variables and logs.
func envFuncs() []runtime.HostFunc {
	const i32, i64 = runtime.I32, runtime.I64
	return []runtime.HostFunc{
		hostFunc(Module, "config_get", []byte{i64}, i64, configGet),
		kernel("var_get", []byte{i64}, i64, varGet),
		kernel("var_set", []byte{i64, i64}, 0, varSet),
		hostFunc(Module, "log_trace", []byte{i64}, 0, logAs("debug")),
		hostFunc(Module, "log_debug", []byte{i64}, 0, logAs("debug")),
		hostFunc(Module, "log_info", []byte{i64}, 0, logAs("info")),
		hostFunc(Module, "log_warn", []byte{i64}, 0, logAs("warning")),
		hostFunc(Module, "log_error", []byte{i64}, 0, logAs("error")),
		// get_log_level() -> i32 returns the minimum level: always 0, trace. The gate filters.
		kernel("get_log_level", nil, i32, func(_ *call, stack []uint64) { stack[0] = 0 }),
	}
}

// configGet implements config_get(name i64) -> i64: it returns a block with a configuration value, or 0 if there is
// none.
func configGet(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	name := string(c.text("the name of a configuration value", stack[0], maxName))
	stack[0] = 0
	g, ok := runtime.GateFrom(ctx).(Configured)
	if !ok {
		return
	}
	if value, ok := g.Config(name); ok {
		stack[0] = c.give([]byte(value))
	}
}

// varGet implements var_get(name i64) -> i64: it returns a block with a variable, or 0 if there is none. It frees the
// block of the name.
func varGet(c *call, stack []uint64) {
	name := c.text("the name of a variable", stack[0], maxName)
	c.free(stack[0])
	stack[0] = c.give(c.vars[string(name)])
}

// varSet implements var_set(name, value i64): it sets a variable for the rest of the call; value 0 removes it. It
// frees both blocks. Variables over maxVars end the guest.
func varSet(c *call, stack []uint64) {
	name := string(c.text("the name of a variable", stack[0], maxName))
	c.free(stack[0])
	if stack[1] == 0 {
		c.removeVar(name)
		return
	}
	value := c.text("a variable", stack[1], maxVars)
	c.free(stack[1])
	size := varOverhead + len(name) + len(value)
	if c.varBytes+size >= maxVars {
		runtime.Abort(&runtime.EndError{Kind: runtime.KindLimit, Message: "the plugin keeps more than 1 MiB of variables"})
	}
	c.removeVar(name)
	if c.vars == nil {
		c.vars = make(map[string][]byte)
	}
	c.vars[name] = value
	c.varBytes += size
}

func (c *call) removeVar(name string) {
	if old, ok := c.vars[name]; ok {
		c.varBytes -= varOverhead + len(name) + len(old)
		delete(c.vars, name)
	}
}

// logAs implements log_*(message i64): it sends a log message and frees its block. The gate filters messages; the
// guest gets no error.
func logAs(level string) callFunc {
	return func(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
		text := c.arena.contents(stack[0])
		params := append([]byte(`{"level":"`+level+`","data":`), jsonraw.AppendString(nil, string(text[:min(len(text), maxLog)]))...)
		c.free(stack[0])
		_, _ = ask(ctx, "notifications/message", append(params, '}'), nil)
	}
}
