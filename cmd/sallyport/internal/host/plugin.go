package host

import (
	"slices"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/abi/command"
	"github.com/sallyport-mcp/sallyport/runtime/abi/extism"
	"github.com/sallyport-mcp/sallyport/runtime/abi/native"
	"github.com/sallyport-mcp/sallyport/runtime/abi/server"
)

// Functions returns all host functions that a guest may import.
func Functions() []runtime.HostFunc {
	return slices.Concat(wasi.HostFuncs(), native.HostFuncs(), extism.HostFuncs())
}

func pluginConfigs(s *settings.Settings) map[string]registry.Config {
	configs := make(map[string]registry.Config, len(s.Plugins))
	for _, p := range s.Plugins {
		configs[p.Name] = pluginConfig(s, p)
	}
	return configs
}

// The gate provides the configuration and the secrets of Extism plugins.
var (
	_ extism.Configured = (*hostfuncs.Gate)(nil)
	_ extism.Secretive  = (*hostfuncs.Gate)(nil)
)

// The gate runs programs and servers.
var (
	_ command.Launcher = (*hostfuncs.Gate)(nil)
	_ server.Launcher  = (*hostfuncs.Gate)(nil)
)

// Dialects returns the ABIs in the order in which a module is tested for them.
func Dialects() []registry.Dialect {
	return []registry.Dialect{
		{Recognises: native.Recognises, Dialect: native.New()},
		{Recognises: extism.Recognises, Dialect: extism.New()},
		{Recognises: command.Recognises, Dialect: command.New()},
		{Recognises: server.Recognises, Dialect: server.New()},
	}
}

func pluginConfig(s *settings.Settings, p settings.Plugin) registry.Config {
	prefix := p.Publish.Prefix
	return registry.Config{
		Source:   p.Source,
		Digest:   p.Trust.Digest,
		Disabled: p.Disabled,
		Prefix:   &prefix,
		Only:     p.Publish.Only,
		Hide:     p.Publish.Hide,
		Callers:  callerRules(p.Callers),
		Limits:   Limits(s, p.Limits),
		Classes:  classes(p.LimitsFor),
		Grants:   p.Grants,
		State:    runtime.State(p.State),
		Frozen:   p.Frozen,
		Seed:     seedOf(p),
		Updates:  updatesOf(p.Trust),
		Learn:    p.Learn,
		Record:   p.Record,

		Workspace: p.Workspace,
		Use:       useOf(p.Limits),
	}
}

// useOf returns the limits of the effects of a plugin.
func useOf(l settings.Limits) hostfuncs.Limits {
	return hostfuncs.Limits{Rate: l.Rate, PrincipalRate: l.PrincipalRate, PrincipalCalls: l.PrincipalCalls, Sent: l.Sent, Received: l.Received}
}

// classes returns the limits of some callers for the registry.
func classes(list []settings.CallerLimits) (all []registry.Class) {
	for _, c := range list {
		all = append(all, registry.Class{Who: c.Callers, Limits: ownLimits(c.Limits), Use: useOf(c.Limits)})
	}
	return all
}

// callerRules returns the rules for the registry.
func callerRules(rules []settings.CallerRule) (all []catalog.CallerRule) {
	for _, r := range rules {
		all = append(all, r.Rule())
	}
	return all
}

// seedOf returns a seed of random numbers that is the same in each call and differs by plugin; "" if not seeded.
func seedOf(p settings.Plugin) string {
	if !p.Seeded {
		return ""
	}
	return "plugin " + p.Name
}

// updatesOf returns the updates that the operator approved in advance.
func updatesOf(t settings.Trust) registry.Updates {
	switch {
	case t.Dev:
		return registry.UpdatesDev
	case t.Updates == string(registry.UpdatesSame):
		return registry.UpdatesSame
	}
	return ""
}

// Limits returns the limits of a plugin, with those of the host for fields that are zero.
func Limits(s *settings.Settings, l settings.Limits) runtime.Limits {
	return ownLimits(l).Or(runtime.Limits{
		Memory:      uint64(s.Bytes("limits.memory")),
		Deadline:    s.Duration("limits.deadline"),
		Task:        s.Duration("limits.task"),
		Output:      int(s.Bytes("limits.output")),
		Concurrency: s.Count("limits.concurrency"),
		Queue:       s.Count("limits.queue"),
		Wait:        s.Duration("limits.wait"),
		Ask:         s.Duration("limits.ask"),
	})
}

// ownLimits returns the limits of a section for the engine.
func ownLimits(l settings.Limits) runtime.Limits {
	return runtime.Limits{Memory: uint64(l.Memory), Deadline: l.Deadline, Task: l.Task, Output: int(l.Output), Concurrency: l.Concurrency, Queue: l.Queue, Wait: l.Wait}
}
