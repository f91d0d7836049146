package hostfuncs

import (
	"crypto/sha256"
	"encoding/binary"
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
	config := p.plugin.Grants.Config()
	maps.Copy(config, p.plugin.Config)
	bare := &Policy{host: p.host, env: p.env, net: p.net, vault: p.vault, plugin: Plugin{
		Name: p.plugin.Name, Digest: p.plugin.Digest, Config: config, Frozen: true, Seed: "start " + p.plugin.Digest, starting: true,
	}}
	return bare.NewGate(Call{ID: "start", Method: "start"})
}

// settle makes clocks and random numbers the same for each call, as configured by the operator.
func (g *Gate) settle(o *wasi.Options) {
	if g.policy.plugin.Frozen {
		clock := &frozen{base: time.Hour} // as in every call
		if g.policy.plugin.starting {
			clock.base = time.Second
		}
		o.Now, o.Monotonic, o.Sleep = clock.now, clock.monotonic, clock.sleep
	}
	if seed := g.policy.plugin.Seed; seed != "" {
		o.Random = rand.NewChaCha8(sha256.Sum256([]byte(seed)))
	}
}

// Seed returns the seed of the guest's own generators, and whether it is the same for each call.
func (g *Gate) Seed() (lo, hi uint64, ok bool) {
	sum := sha256.Sum256([]byte("generators " + g.policy.plugin.Seed))
	return binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]), g.policy.plugin.Seed != ""
}

// Used records the resource usage of the call.
func (g *Gate) Used(u runtime.Usage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.usage = u
}
