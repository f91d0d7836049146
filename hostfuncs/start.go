package hostfuncs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

var (
	_ runtime.Accountant = (*Gate)(nil)
	_ runtime.Seeder     = (*Gate)(nil)
)

// StartGate opens the gate for starting a plugin, outside any call: it grants nothing, its clocks are frozen, and its
// random numbers derive from the plugin's digest. The start is therefore the same in every process. Close it when the
// plugin has started.
func (p *Policy) StartGate() *Gate {
	return p.bare(stageStart).NewGate(Call{ID: "start", Method: "start"})
}

// WarmGate opens the gate for a plugin's own warm-up, after its start. It is as that of StartGate, but a request for
// random numbers ends the warm-up: a key or a seed that code makes on first use would be the same in every call.
func (p *Policy) WarmGate() *Gate {
	return p.bare(stageWarm).NewGate(Call{ID: "warm", Method: "start"})
}

// stage is a part of a plugin's start, outside any call.
type stage int

const (
	stageStart stage = iota
	stageWarm
	stageRehearsal
)

// bare returns the policy of a stage.
func (p *Policy) bare(s stage) *Policy {
	config := p.plugin.Grants.Lines().Config()
	maps.Copy(config, p.plugin.Config)
	return &Policy{host: p.host, args: p.args, env: p.env, net: p.net, vault: p.vault, limits: limitsOf(Limits{}, nil), plugin: Plugin{
		Name: p.plugin.Name, Digest: p.plugin.Digest, Config: config, Frozen: true, Seed: "start " + p.plugin.Digest,
		starting: true, starts: p, warming: s >= stageWarm, alone: s == stageRehearsal,
	}}
}

// WarmUpFailed logs why the calls of a plugin begin without its own warm-up.
func (p *Policy) WarmUpFailed(reason error) {
	attrs := []any{"plugin", p.plugin.Name, "reason", reason}
	var end *runtime.EndError
	if errors.As(reason, &end) && end.Stack != "" {
		attrs = append(attrs, "stack", end.Stack)
	}
	p.host.options.Logger.Warn("the plugin's warm-up failed: its calls begin with the state from before it", attrs...)
}

// noRandom ends a warm-up that reads random numbers.
type noRandom struct{}

// Read does not return.
func (noRandom) Read([]byte) (int, error) {
	runtime.Abort(runtime.AskErrorf(runtime.KindDenied, "random numbers of a warm-up would be the same in every call"))
	return 0, nil
}

// The monotonic clocks of a start, of the warm-up after it and of each call. The first two end where the next begins: a
// guest that slept longer would otherwise see its clock run backwards in its calls.
const (
	startBase = time.Second
	warmBase  = time.Minute
	callBase  = time.Hour
)

// settle makes clocks and random numbers the same for each call, as configured by the operator.
func (p *Plugin) settle(o *wasi.Options) {
	if p.Frozen {
		clock := &frozen{base: callBase}
		switch {
		case p.warming:
			clock.base, clock.most = warmBase, callBase-warmBase
		case p.starting:
			clock.base, clock.most = startBase, warmBase-startBase
		}
		o.Now, o.Monotonic, o.Sleep = clock.now, clock.monotonic, clock.sleep
	}
	if p.alone {
		o.Tree, o.Waits = aloneTree{}, endless(o.Waits)
	}
	if p.warming {
		o.Random = noRandom{}
	} else if seed := p.Seed; seed != "" {
		o.Random = rand.NewChaCha8(sha256.Sum256([]byte(seed)))
	}
}

// Seed returns the seed of the guest's own generators, and whether it is the same for each call.
func (g *Gate) Seed() (lo, hi uint64, ok bool) {
	sum := sha256.Sum256([]byte("generators " + g.policy.plugin.Seed))
	return binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]), g.policy.plugin.Seed != ""
}
