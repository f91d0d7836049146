package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/clients"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/private"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/form"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/trace"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/extism"
	"github.com/sallyport-mcp/sallyport/runtime/native"
)

// host is everything below the wire, joined.
type host struct {
	engine   *runtime.Engine
	gates    *hostfuncs.Host
	audit    *audit.Log
	store    *store.Store
	registry *registry.Registry
	flags    string // settings.Flags, where the operator is asked

	// asked and ended hear of new questions and of calls that are over; they are set before any call, or nil.
	asked func()
	ended func(r receipt.Receipt, tool string)
}

// configure takes changed settings over, for the calls that begin later.
func (h *host) configure(s *settings.Settings) error {
	h.gates.Protect(protected(s, nil))
	return h.registry.Configure(pluginConfigs(s))
}

// openHost brings up the engine and the gate, and loads the plugins of s; files restricts it to
// the files named, with no folder watched.
func openHost(ctx context.Context, s *settings.Settings, log *slog.Logger, files ...registry.File) (*host, error) {
	return openHostWith(ctx, s, log, nil, files...)
}

// openHostWith is openHost under a lock; nil lets every plugin serve, as befits files that are named one by one.
func openHostWith(ctx context.Context, s *settings.Settings, log *slog.Logger, l *lock.Lock, files ...registry.File) (*host, error) {
	state := s.Text("state")
	if err := private.Folder(state); err != nil {
		return nil, err
	}
	engine, err := runtime.NewEngine(ctx, &runtime.EngineOptions{
		CacheDir: cacheDir(state),
		Compiler: compileElsewhere(cacheDir(state), log),
		Host:     slices.Concat(wasi.HostFuncs(), native.HostFuncs(), extism.HostFuncs()),
		Logger:   log,
	})
	if err != nil {
		return nil, err
	}
	h := &host{engine: engine, audit: newAuditLog(s, log), store: store.New(store.Options{Dir: state})}
	h.gates = newGates(s, log, files, h)
	if err := h.gates.Recover(); err != nil {
		log.Error("what calls of an earlier run wrote could not be finished", "error", err)
	}
	h.registry, err = registry.New(ctx, registryOptions(s, h, log, l, files))
	if err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	return h, nil
}

// newGates keeps Sallyport's own files out of every plugin's reach.
func newGates(s *settings.Settings, log *slog.Logger, files []registry.File, h *host) *hostfuncs.Host {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // "~/" in a grant then matches nothing
	}
	var asked hostfuncs.Operator
	var forms *form.Desk
	if files == nil && h.store != nil {
		h.flags = s.Flags()
		asked, forms = newOperator(s, h, log), newForms(s, h, log)
	}
	upstream, _ := trace.ParseUpstream(s.Text("trace")) // which was checked
	return hostfuncs.NewHost(&hostfuncs.Options{
		Logger: log,
		Home:   home,
		State:  s.Text("state"),
		Audit:  h.audit,
		Store:  h.store,

		Operator: asked,
		Forms:    forms,
		Ended: func(r receipt.Receipt, tool string) {
			if h.ended != nil {
				h.ended(r, tool)
			}
		},

		FullReceipts: s.Text("receipt") == "full",
		Trace:        upstream,

		Protected: protected(s, files),
		Web: web.Options{
			Proxy:     func(u *url.URL) (*url.URL, error) { return http.ProxyFromEnvironment(&http.Request{URL: u}) },
			UserAgent: "sallyport/" + version(),
		},
	})
}

// protected are the files and folders that no grant reaches: who may write them could grant itself
// the rest, at the latest at the next start.
func protected(s *settings.Settings, files []registry.File) []string {
	paths := append(clients.Files(), s.File, s.Text("state"), s.Text("dir"), lockFile(s), s.Text("http.tokens"), s.Text("http.tls_key"), s.Text("state_keys"))
	if file, err := settings.DefaultFile(); err == nil {
		paths = append(paths, filepath.Dir(file)) // also where there is none yet
	}
	for _, f := range clients.Files() {
		paths = append(paths, f+".bak-*")
	}
	for _, p := range s.Plugins {
		paths = append(paths, p.Source)
	}
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return slices.DeleteFunc(paths, func(p string) bool { return p == "" })
}

func registryOptions(s *settings.Settings, h *host, log *slog.Logger, l *lock.Lock, files []registry.File) registry.Options {
	o := registry.Options{
		Engine:   h.engine,
		Host:     h.gates,
		State:    s.Text("state"),
		Logger:   log,
		Dialects: dialects(),
		Defaults: limits(s, settings.Limits{}),
		Files:    files,
		Lock:     l,
	}
	if files != nil {
		o.Logger = quiet(s, log) // the command itself says what became of its file
	} else {
		o.Dir = s.Text("dir")
		o.Plugins = pluginConfigs(s)
	}
	return o
}

func pluginConfigs(s *settings.Settings) map[string]registry.Config {
	configs := make(map[string]registry.Config, len(s.Plugins))
	for _, p := range s.Plugins {
		configs[p.Name] = pluginConfig(s, p)
	}
	return configs
}

// An Extism plugin is given its configuration by the gate.
var _ extism.Configured = (*hostfuncs.Gate)(nil)

// dialects are the calling conventions, in the order in which a module is asked for them.
func dialects() []registry.Dialect {
	return []registry.Dialect{
		{Recognises: native.Recognises, Dialect: native.New()},
		{Recognises: extism.Recognises, Dialect: extism.New()},
	}
}

func pluginConfig(s *settings.Settings, p settings.Plugin) registry.Config {
	prefix := p.Prefix
	return registry.Config{
		Source:   p.Source,
		Disabled: p.Disabled,
		Prefix:   &prefix,
		Only:     p.Only,
		Hide:     p.Hide,
		Limits:   limits(s, p.Limits),
		Grants:   p.Grants,
		State:    runtime.State(p.State),
		Frozen:   p.Frozen,
		Seed:     seedOf(p),
		Updates:  updatesOf(p),
		Learn:    p.Learn,

		Workspace: p.Workspace,
		Use: hostfuncs.Limits{
			Rate: p.Limits.Rate, PrincipalRate: p.Limits.PrincipalRate, PrincipalCalls: p.Limits.PrincipalCalls,
			Sent: p.Limits.Sent, Received: p.Limits.Received,
		},
	}
}

// seedOf makes random numbers the same in each call, but not those of another plugin.
func seedOf(p settings.Plugin) string {
	if !p.Seeded {
		return ""
	}
	return "plugin " + p.Name
}

// updatesOf is what the operator approved beforehand.
func updatesOf(p settings.Plugin) registry.Updates {
	switch {
	case p.Dev:
		return registry.UpdatesDev
	case p.Updates == string(registry.UpdatesSame):
		return registry.UpdatesSame
	}
	return ""
}

// limits are those of a plugin, with the host's own where it has none.
func limits(s *settings.Settings, l settings.Limits) runtime.Limits {
	return runtime.Limits{
		Memory:      uint64(cmp.Or(l.Memory, s.Bytes("limits.memory"))),
		Deadline:    cmp.Or(l.Deadline, s.Duration("limits.deadline")),
		Task:        cmp.Or(l.Task, s.Duration("limits.task")),
		Output:      int(cmp.Or(l.Output, s.Bytes("limits.output"))),
		Concurrency: cmp.Or(l.Concurrency, s.Count("limits.concurrency")),
		Ask:         s.Duration("limits.ask"),
	}
}

// close ends what openHost began, the last first.
func (h *host) close(ctx context.Context) error {
	var err error
	if h.registry != nil {
		err = h.registry.Close(ctx)
	}
	h.gates.Close()
	return errors.Join(err, h.audit.Close(), h.store.Close(), h.engine.Close(ctx))
}

// grants reads the --grant lines of a command.
func grants(lines []string) (*grant.Set, error) {
	var all []grant.Grant
	for _, line := range lines {
		g, err := grant.ParseLine(line)
		if err != nil {
			return nil, voice.Hint(err, "a grant is one line, such as --grant 'net: GET https://api.example.com/**'")
		}
		all = append(all, g)
	}
	return grant.NewSet(all...), nil
}
