package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Limits of nested calls.
const (
	// maxDepth limits the depth of nested calls: enough for composition, not for recursion.
	maxDepth = 8
	// maxNested limits the nested calls of one call, including those of its callees.
	maxNested = 100
)

// Caller calls the tools and reads the resources of plugins; the registry implements it. It is safe for concurrent use.
type Caller interface {
	// CallTool calls a tool by its public name for a running call. The context is the guest's, so that the same
	// deadline applies to the callee. Errors are those of any call.
	CallTool(ctx context.Context, n Nested) (json.RawMessage, error)
	// Publisher returns the plugin that publishes the resource n.URI to the caller of a running call; "" if none does.
	Publisher(n Nested) string
	// ReadResource reads the resource n.URI of n.Plugin for a running call, as CallTool calls a tool.
	ReadResource(ctx context.Context, n Nested) (json.RawMessage, error)
}

// Nested is a call made by a running call.
type Nested struct {
	Tool      string // public name
	Arguments json.RawMessage

	URI    string // of a resource
	Plugin string // that publishes the resource

	Principal string // of the outermost call
	Roles     identity.Roles
	DryRun    bool // as the outermost call
	ReadOnly  bool // a call above has readOnlyHint
	Client    Client
	Chain     *Chain
	Trace     trace.Context // of the running call; zero without one
}

// Chain links a nested call to the calls above it. A nil chain is an outermost call.
type Chain struct {
	depth int
	under []*grant.Set  // the ceilings of the callers
	calls *atomic.Int32 // of the whole tree
	// receipt takes the callee's receipt.
	receipt func(receipt.Receipt)
	above   *Gate // the caller's
}

// caller returns the gate of the calling call; nil for an outermost call.
func (c *Chain) caller() *Gate {
	if c == nil {
		return nil
	}
	return c.above
}

// Depth returns the number of calls above this one.
func (c *Chain) Depth() int {
	if c == nil {
		return 0
	}
	return c.depth
}

// bound limits a set by the ceilings of the callers.
func (c *Chain) bound(s *grant.Set) *grant.Set {
	if c != nil {
		for _, ceiling := range c.under {
			s = s.Under(ceiling)
		}
	}
	return s
}

// nextChain returns the chain for a nested call of g.
func nextChain(g *Gate) *Chain {
	c := &Chain{depth: g.call.Chain.Depth() + 1, receipt: g.record.nest, above: g}
	if g.call.Chain != nil {
		c.under, c.calls = slices.Clone(g.call.Chain.under), g.call.Chain.calls
	} else {
		c.calls = &atomic.Int32{}
		g.call.Chain = &Chain{calls: c.calls}
	}
	c.under = append(c.under, g.policy.plugin.Grants.Ceilings()...)
	return c
}

// callTool serves tools/call {name, arguments?}: a tool of some plugin by its public name, under that plugin's own
// grants and the ceilings of the caller. The granting line binds the tool's arguments.
func callTool(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	caller := g.policy.host.caller.Load()
	name, ok := jsonraw.String(jsonraw.Get(params, "name"))
	switch {
	case caller == nil:
		return nil, askErrorf(runtime.KindUnsupported, "tools/call is not available here")
	case !ok:
		return nil, askErrorf(runtime.KindInvalid, "a call needs the name of a tool")
	case len(params) > maxQuestion:
		return nil, askErrorf(runtime.KindLimit, "the arguments of a call are longer than %d bytes", maxQuestion)
	}
	arguments := jsonraw.Get(params, "arguments")
	texts, err := argumentTexts(arguments)
	if err != nil {
		return nil, err
	}
	if jsonraw.IsNull(arguments) {
		arguments = json.RawMessage("{}")
	}
	var result json.RawMessage
	err = g.pass(ctx, effect{
		family: "tools", act: "call " + cut(name, maxMethod), target: cut(name, maxMethod),
		decide:   func(s *grant.Set) grant.Decision { return s.Tool(name, texts) },
		learning: learning{propose: func(bound func(string) (string, bool)) string { return grant.ToolLine(name, texts, bound) }},
		intent:   "the call of " + cut(name, maxMethod),
		entry:    callEntry("tools/call", &g.writes, params, &result),
		do: func(ctx context.Context, _ grant.Decision) error {
			result, err = g.nest(ctx, "the tool "+name, Nested{Tool: name, Arguments: arguments}, (*caller).CallTool)
			return err
		},
	})
	return result, err
}

// nest makes a call within this one. what names the callee in errors.
func (g *Gate) nest(ctx context.Context, what string, n Nested, call func(context.Context, Nested) (json.RawMessage, error)) (json.RawMessage, error) {
	n.Chain = nextChain(g)
	if n.Chain.depth > maxDepth {
		return nil, askErrorf(runtime.KindLimit, "calls within calls are more than %d deep", maxDepth)
	}
	if n.Chain.calls.Add(1) > maxNested {
		return nil, askErrorf(runtime.KindLimit, "the call makes more than %d calls of other plugins", maxNested)
	}
	n.Principal, n.Roles, n.DryRun, n.ReadOnly = g.call.Principal, g.call.Roles, g.call.DryRun, g.call.ReadOnly
	n.Client, n.Trace = g.session.inner(), g.session.trace()
	before := len(g.intents.begun)
	result, err := call(ctx, n)
	return result, nestedError(what, err, g.intents.begun[before:])
}

// callEntry returns the journal's record of a call. A call that left uncommitted writes of callees has no outcome: they
// would be lost with this run.
func callEntry(method string, w *writes, params json.RawMessage, result *json.RawMessage) *entry {
	e := answerEntry(method, params, result)
	encode, decode := e.encode, e.decode
	e.encode = func(err error) ([]byte, error) {
		if w.calleesWrote() {
			return []byte{keptWrote}, nil
		}
		return encode(err)
	}
	e.decode = func(outcome []byte) error {
		if len(outcome) > 0 && outcome[0] == keptWrote {
			return lostWrites()
		}
		return decode(outcome)
	}
	return e
}

// argumentTexts returns the arguments in the form that lines compare.
func argumentTexts(raw json.RawMessage) (map[string]string, error) {
	if jsonraw.IsNull(raw) {
		return nil, nil
	}
	if path, twice := jsonraw.AmbiguousKey(raw); twice {
		return nil, askErrorf(runtime.KindInvalid, "the arguments have %s twice", cut(path, maxMethod))
	}
	members, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, askErrorf(runtime.KindInvalid, "arguments are an object")
	}
	values := grant.ArgumentValues(raw)
	texts := make(map[string]string, len(members))
	for _, m := range members {
		texts[m.Key] = grant.Structured
		if v := values([]string{m.Key}); len(v) == 1 && len(m.Value) > 0 && m.Value[0] != '[' {
			texts[m.Key] = v[0]
		}
	}
	return texts, nil
}

// nestedError returns the caller's error for a failed callee, with the changes that the callee had begun.
func nestedError(what string, err error, begun []string) error {
	failed := nestedFailure(what, err)
	if failed == nil || len(begun) == 0 {
		return failed
	}
	told := *asAskError(failed)
	told.Message += "; it had begun this, which stays done: " + strings.Join(begun, ", ")
	return &told
}

func nestedFailure(what string, err error) error {
	var ask *runtime.AskError
	var end *runtime.EndError
	var guest *runtime.GuestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ask):
		return ask
	case errors.As(err, &end):
		kind := end.Kind
		switch kind {
		case runtime.KindTrap, runtime.KindExit, runtime.KindGuest, runtime.KindInternal, runtime.KindUnknown, runtime.KindCancelled:
			kind = runtime.KindUnavailable
		case runtime.KindDeadline:
			kind = runtime.KindTimeout
		}
		return askErrorf(kind, "%s failed: %s", what, end.Message)
	case errors.As(err, &guest):
		return askErrorf(runtime.KindInvalid, "%s answers with error %d: %s", what, guest.Code, printable(cut(guest.Message, maxAct)))
	}
	return askErrorf(runtime.KindUnavailable, "%s failed", what)
}

// SetCaller sets the implementation of tool calls; without one, they are unsupported.
func (h *Host) SetCaller(c Caller) { h.caller.Store(&c) }

func toolFamily() family {
	tools := func(s *grant.Set, name string) grant.Decision { return s.Tool(name, nil) }
	return family{
		name: "tools", acts: []string{"call TOOL"}, explain: named("tools", "call ", tools),
		methods: map[string]method{"tools/call": callTool},
		replay:  replayRecorded, bindable: true,
	}
}
