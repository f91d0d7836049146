package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/journal"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// ErrGone is in the chain of the error of a call to an entry that its plugin no longer publishes.
var ErrGone = errors.New("no longer published")

// Client is what a running call can reach of its caller.
type Client = hostfuncs.Client

// Call is one request of a client.
type Call struct {
	ID        string          // names the call in logs; empty makes one
	Principal string          // whose call it is
	Session   string          // whose kept instance serves it, under runtime.StateSession; empty is an instance of its own
	Params    json.RawMessage // as the client sent it, with public names; nil is {}
	Client    Client          // nil: nobody listens
	// Check looks at the answer before anything that the call wrote is made to last; an error ends the call.
	// Nil takes any answer, and one with isError for a failure.
	Check func(answer json.RawMessage) (Verdict, error)
	// Chain is what stands above a call that another call makes; nil if a client makes it.
	Chain *hostfuncs.Chain
	// DryRun holds back whatever would last.
	DryRun bool
	// ReadOnly lets nothing be changed, whatever the tool says of itself: a call that made this one may not.
	ReadOnly bool
	// Journal is what the plugin was answered when this call ran before, or a new one; nil if the call is
	// never run again. One that was kept under another digest or other grants is refused with
	// journal.ErrOther.
	Journal *journal.Journal
	// Patient has the call wait for its turn however many wait before it.
	Patient bool
}

// Verdict is what became of an answer that was looked at.
type Verdict struct {
	Failed  bool // the tool says that it failed: what it wrote is dropped
	Removed int  // characters that were cleaned out of it
	Hidden  int  // characters of that kind in its data, which stay
}

// settle makes what a call wrote last, if its answer is a success.
func (c Call) settle(ctx context.Context, gate *hostfuncs.Gate, answer json.RawMessage) error {
	v := Verdict{Failed: string(rawjson.Get(answer, "isError")) == "true"}
	if c.Check != nil {
		var err error
		if v, err = c.Check(answer); err != nil {
			return err
		}
	}
	if gate == nil {
		return nil
	}
	gate.Cleaned(v.Removed, v.Hidden)
	if v.Failed {
		gate.Ended(hostfuncs.OutcomeTool)
		return nil
	}
	if err := gate.Land(ctx); err != nil {
		return err
	}
	gate.Ended(hostfuncs.OutcomeOK)
	return nil
}

// Reader serves resources/read for one URI: a Resource or a Template.
type Reader interface {
	// Read asks the plugin. Safe for concurrent use; errors are those of Tool.Call.
	Read(ctx context.Context, c Call) (json.RawMessage, error)
	// Keeps is that of Tool.
	Keeps(session string) bool
}

var (
	_ Reader = (*Resource)(nil)
	_ Reader = (*Template)(nil)
	_ Reader = (*collision)(nil)
)

// gone is the end of a call to an entry that is not published any more.
func gone(plugin, what string) error {
	return &runtime.EndError{
		Kind:    runtime.KindUnavailable,
		Message: fmt.Sprintf("plugin %q no longer publishes %s", plugin, what),
		Err:     ErrGone,
	}
}

// collision answers for a URI that two plugins claim alike.
type collision struct {
	uri     string
	plugins [2]string
}

// Keeps is false: nothing is called.
func (c *collision) Keeps(string) bool { return false }

// Read refuses and names both plugins.
func (c *collision) Read(context.Context, Call) (json.RawMessage, error) {
	return nil, &runtime.EndError{
		Kind: runtime.KindConflict,
		Message: fmt.Sprintf("plugins %q and %q have templates that both match %s; hide one of them",
			c.plugins[0], c.plugins[1], c.uri),
	}
}

// withName returns params with another name; the rest stays as it was. name is JSON.
func withName(params, name json.RawMessage) (json.RawMessage, error) {
	if rawjson.IsNull(params) {
		params = json.RawMessage("{}")
	}
	o, err := rawjson.ParseObject(params)
	if err != nil {
		return nil, invalidParams(err)
	}
	if bytes.Equal(o.Get("name"), name) {
		return params, nil
	}
	o.Set("name", name)
	return o.Append(make([]byte, 0, len(params)+len(name)+len(`{"name":,}`))), nil
}

// withRefName returns completion params whose ref names the plugin's own prompt.
func withRefName(params, name json.RawMessage) (json.RawMessage, error) {
	o, err := rawjson.ParseObject(params)
	if err != nil {
		return nil, invalidParams(err)
	}
	ref, err := withName(o.Get("ref"), name)
	if err != nil {
		return nil, err
	}
	o.Set("ref", ref)
	return o.Append(nil), nil
}

func invalidParams(err error) error {
	return &runtime.GuestError{Code: codeInvalidParams, Message: "invalid params: " + err.Error()}
}

// codeInvalidParams is JSON-RPC's number for params that do not fit the method.
const codeInvalidParams = -32602
