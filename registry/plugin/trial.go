package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/registry/script"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// trialTime is the deadline of one call of a trial, unless the plugin's own is shorter.
const trialTime = 10 * time.Second

// Trial runs recorded calls with other bytes, under the grants of their plugin. Host should reach nothing.
type Trial struct {
	Engine   *runtime.Engine
	Host     *hostfuncs.Host
	Dialects []Dialect
	Plugin   hostfuncs.Plugin // with the grants as the operator wrote them
	Limits   runtime.Limits
	Within   time.Duration // of all calls: new bytes may hang in each
}

// Run runs the calls in their order, and calls made with each as the bytes made it. It leaves out those for which no
// time is left. The error is that of bytes that cannot run.
func (t Trial) Run(ctx context.Context, wasm []byte, calls []recording.Call, made func(call, trial *recording.Call)) error {
	compiled, dialect, m, err := t.load(ctx, wasm)
	if err != nil {
		return err
	}
	defer compiled.Close()
	p := t.Plugin
	if p.Grants.Lines().Varies() {
		if p.Grants, err = p.Grants.Fit(Shapes(m)); err != nil {
			return fmt.Errorf("its grants do not fit: %w", err)
		}
	}
	policy := t.Host.Plugin(p)
	defer policy.Close()
	limits := t.Limits.WithDefaults()
	limits.Deadline, limits.Output = min(limits.Deadline, trialTime), maxAnswer
	pool := runtime.NewPool(compiled, dialect, &runtime.PoolOptions{
		Limits: limits, Start: opened(policy.StartGate), Warm: opened(policy.WarmGate), Rehearsal: opened(policy.RehearsalGate),
	})
	defer pool.Close(context.WithoutCancel(ctx))
	until, cancel := context.WithTimeout(ctx, t.Within)
	defer cancel()
	for i := range calls {
		trial := try(until, pool, policy, m, &calls[i])
		if until.Err() != nil {
			break // it may have been cut short
		}
		made(&calls[i], &trial)
	}
	return ctx.Err()
}

// load compiles the bytes and reads their manifest, without any grant.
func (t Trial) load(ctx context.Context, wasm []byte) (*runtime.Module, runtime.Dialect, *manifest.Manifest, error) {
	wasm, err := script.Expand(wasm)
	if err != nil {
		return nil, nil, nil, err
	}
	b, err := wasmbin.Read(wasm)
	if err != nil {
		return nil, nil, nil, err
	}
	d, err := detect(b, t.Dialects)
	if err != nil {
		return nil, nil, nil, err
	}
	raw, err := packed(b, d)
	if err != nil {
		return nil, nil, nil, err
	}
	compiled, err := t.Engine.Compile(ctx, wasm)
	if err != nil {
		return nil, nil, nil, err
	}
	if raw == nil {
		raw, err = Describe(ctx, t.Host, compiled, d, t.Plugin.Name)
	}
	var m *manifest.Manifest
	if err == nil {
		m, err = manifest.Parse(launched(b, raw))
	}
	if err != nil {
		compiled.Close()
		return nil, nil, nil, err
	}
	return compiled, d, m, nil
}

// try runs one call.
func try(ctx context.Context, pool *runtime.Pool, policy *hostfuncs.Policy, m *manifest.Manifest, c *recording.Call) recording.Call {
	entries := m.Entries(manifest.Kind(c.Kind))
	i := slices.IndexFunc(entries, func(e manifest.Entry) bool { return e.ID == c.Entry })
	if i < 0 {
		return recording.Call{Failed: fmt.Sprintf("the new bytes have no %s %q", c.Kind, c.Entry)}
	}
	gate := policy.NewGate(trialCall(c, entries[i]))
	defer gate.Close()
	answer, err := pool.Call(ctx, runtime.Request{Method: c.Method, Params: c.Params, Caller: c.Principal}, gate)
	if concluded := gate.Conclude(err); err == nil {
		err = concluded
	}
	return gate.Tried(answer, err)
}

// trialCall returns the call of a trial, with the values that grants bind and the promises of the new definition.
func trialCall(c *recording.Call, e manifest.Entry) hostfuncs.Call {
	call := hostfuncs.Call{ID: "trial", Principal: c.Principal, Method: c.Method, Params: c.Params, DryRun: true, Trial: c,
		Entry: grant.Entry{Kind: c.Kind, Name: c.Entry}}
	switch manifest.Kind(c.Kind) {
	case manifest.Tool:
		call.Tool, call.Values = c.Entry, argumentsIn(c.Params)
		call.ReadOnly = string(jsonraw.Get(e.Members.Append(nil), "annotations", "readOnlyHint")) == "true"
	case manifest.Prompt:
		call.Values = argumentsIn(c.Params)
	case manifest.Template:
		if uri, ok := jsonraw.String(jsonraw.Get(c.Params, "uri")); ok && e.Pattern != nil {
			call.Values = grant.NamedValues(e.Pattern.Values(uri))
		}
	}
	return call
}

func argumentsIn(params json.RawMessage) func([]string) []string {
	return grant.ArgumentValues(jsonraw.Get(params, "arguments"))
}
