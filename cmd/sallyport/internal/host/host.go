// Package host builds the engine, the gates, the store, the audit log and the plugin registry from the settings, and
// applies later changes of the configuration.
//
//	h, err := host.Open(ctx, host.Options{Settings: s, Logger: log, Lock: l})
//	…
//	defer h.Follow(ctx)() // changes of the configuration and the lock file
//	server := protocol.NewServer(h.Registry, …)
//	defer h.Close(ctx)
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/clients"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	"github.com/sallyport-mcp/sallyport/internal/shellword"
	"github.com/sallyport-mcp/sallyport/internal/sigstore"
	"github.com/sallyport-mcp/sallyport/internal/trace"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/registry/toolfile"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Options configure Open. Settings and Logger are required.
type Options struct {
	Settings *settings.Settings
	Logger   *slog.Logger
	// Lock holds the approved digests; nil lets every plugin serve, for files named on the command line. The host closes its
	// store.
	Lock *lock.Lock
	// Files, if not nil, are the only files loaded: no folder is watched, and the operator is not asked.
	Files []registry.File
	// Web answers the requests of plugins in place of the web; nil is the web.
	Web http.RoundTripper
	// Ended is called with the record of each call, see hostfuncs.Options; it may be nil.
	Ended func(receipt.Receipt, receipt.Caller)
	// Waited is called with the time that a call waited, see runtime.EngineOptions; it may be nil.
	Waited func(time.Duration)
	// Took is called with the time of each operation of the store, see store.Options; it may be nil.
	Took func(operation string, d time.Duration, err error)
	// Audited is called with each line of the audit log, see audit.Options.Line; it may be nil.
	Audited func(at time.Time, line []byte)
	// Keys is the folder of the plugins' keys in place of the state folder; "" is that.
	Keys string
}

// Host holds the components below the transports.
type Host struct {
	Engine   *runtime.Engine
	Gates    *hostfuncs.Host
	Store    *store.Store
	Registry *registry.Registry

	settings *settings.Settings
	log      *slog.Logger
	audit    *audit.Log
	lock     *lock.Lock // Options.Lock
	flags    string     // settings.Flags for the commands shown to the operator

	clients clientNames
	stirred chan struct{} // has room for one; see stir
	usage   *usage.Meter
}

// Open starts the engine and the gates, and loads the plugins. The caller must call Close.
func Open(ctx context.Context, o Options) (*Host, error) {
	s, log := o.Settings, o.Logger
	if err := userfile.MakeFolder(s.Text("state")); err != nil {
		return nil, err
	}
	engine, err := newEngine(ctx, o)
	if err != nil {
		return nil, err
	}
	age, size := s.Keep("audit.keep")
	h := &Host{Engine: engine, Store: o.store(), settings: s, log: log, lock: o.Lock, stirred: make(chan struct{}, 1)}
	noted := audit.Options{Failed: h.auditFailed, Keep: audit.Keep{Age: age, Bytes: size}, Line: o.Audited, Began: h.stir}
	if o.Keys == "" {
		noted.Heads = heads(s, h.Store)
	}
	h.audit = audit.New(s.State().Audit(), noted)
	if err := h.Store.Check(ctx); errors.Is(err, store.ErrUnavailable) {
		log.Warn("calls that store nothing are served meanwhile", "error", err)
	} else if err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), h.Store.Close(), engine.Close(context.WithoutCancel(ctx)))
	}
	h.usage = usage.New(usage.Options{Store: h.Store, Logger: log})
	h.usage.Set(s.Quotas)
	gates := h.gateOptions(o.Files)
	gates.Web.Instead, gates.Ended = o.Web, o.Ended
	h.Gates = hostfuncs.NewHost(gates)
	if o.Files == nil {
		pruneRecordings(s)
	}
	if err := h.Gates.Recover(); err != nil {
		log.Error("writes of an earlier run could not be committed", "error", err)
	}
	h.Registry, err = registry.New(ctx, h.registryOptions(o))
	if err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return h, nil
}

// auditFailed logs a failure of the audit log.
func (h *Host) auditFailed(err error) {
	if errors.Is(err, audit.ErrUnrecorded) {
		h.log.Warn("the audit log goes on, and another host could not tell that it was set back", "error", err)
		return
	}
	h.log.Error("the audit log cannot be written", "error", err)
}

// store returns the store of plugins and clients.
func (o *Options) store() *store.Store {
	switch {
	case o.Keys != "":
		return store.New(store.Options{Dir: o.Keys, Took: o.Took})
	case o.Lock != nil && o.Lock.Store() != nil:
		return o.Lock.Store()
	}
	return openStore(o.Settings, o.Took)
}

// OpenStore returns the store of these settings, in the state folder or in a database. The caller closes it.
func OpenStore(s *settings.Settings) *store.Store { return openStore(s, nil) }

func openStore(s *settings.Settings, took func(string, time.Duration, error)) *store.Store {
	return store.New(store.Options{Dir: s.Text("state"), URL: s.Text("store"), Took: took})
}

func newEngine(ctx context.Context, o Options) (*runtime.Engine, error) {
	s, log := o.Settings, o.Logger
	return runtime.NewEngine(ctx, &runtime.EngineOptions{
		CacheDir: s.State().Compiled(),
		Compiler: CompileInChild(s.State().Compiled(), log),
		Host:     Functions(),
		Logger:   log,
		Kept:     uint64(s.Bytes("limits.kept")),
		Loaded:   uint64(s.Bytes("limits.loaded")),
		Waited:   o.Waited,
	})
}

// Gates returns the gates of a host that serves nothing, to query their decisions. The caller closes them.
func Gates(s *settings.Settings) *hostfuncs.Host {
	h := &Host{settings: s, log: slog.New(slog.DiscardHandler)}
	return hostfuncs.NewHost(h.gateOptions(nil))
}

// gateOptions returns those of the gates, with Sallyport's own files denied to every plugin.
func (h *Host) gateOptions(files []registry.File) *hostfuncs.Options {
	s := h.settings
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // a "~/" in a grant then matches nothing
	}
	var asked hostfuncs.Operator
	var forms *elicit.Desk
	if files == nil && h.Store != nil {
		h.flags = s.Flags()
		asked, forms = h.newOperator(), h.newForms()
	}
	upstream, _ := trace.ParseUpstream(s.Text("trace")) // validated with the settings
	return &hostfuncs.Options{
		Logger: h.log,
		Home:   home,
		State:  s.Text("state"),
		Audit:  h.audit,
		Store:  h.Store,
		Usage:  h.usage,

		Operator:     asked,
		Forms:        forms,
		Advise:       advice(s, files),
		Flags:        s.Flags(),
		FullReceipts: s.Text("receipt") == "full",
		Trace:        upstream,
		Recordings:   Recordings(s),

		Protected: protected(s, files),
		Web: egress.Options{
			Proxy:     func(u *url.URL) (*url.URL, error) { return http.ProxyFromEnvironment(&http.Request{URL: u}) },
			UserAgent: "sallyport/" + Version(),
		},
	}
}

// advice returns the command that adds a grant: a --grant flag for files named on the command line, else the command
// that changes the configuration. Callers on other machines do not learn its location.
func advice(s *settings.Settings, files []registry.File) func(plugin, line string, local bool) string {
	if files != nil {
		return func(_, line string, _ bool) string { return "--grant " + shellword.Quoted(grant.Unquote(line)) }
	}
	return func(plugin, line string, local bool) string {
		return GrantCommand(s, plugin, line, local)
	}
}

// GrantCommand returns the command that adds a line to the grants of a plugin. With flags it finds the configuration of
// these settings from any folder.
func GrantCommand(s *settings.Settings, plugin, line string, flags bool) string {
	command := "sallyport grant " + plugin + " " + shellword.Quoted(grant.Unquote(line))
	if flags {
		command = strings.TrimSpace(command + " " + s.Flags())
	}
	return command
}

// protected lists the files and folders that no grant reaches: a plugin that can write them could grant itself the
// rest, at the latest at the next start. This program and the one that verifies signatures are two of them, as are the
// default folders of other hosts and commands of this user.
func protected(s *settings.Settings, files []registry.File) []string {
	paths := append(clients.Files(), s.File, s.Text("state"), s.Text("dir"), s.LockFile(), s.Text("http.tokens"), s.Text("http.tls_key"), s.Text("state_keys"), s.Text("trusted_root"))
	paths = append(paths, settings.DefaultFolders()...) // even if they do not exist yet
	if self, err := os.Executable(); err == nil {
		self = strings.TrimSuffix(self, " (deleted)")
		paths = append(paths, self, sigstore.Beside(self), SignatureVerifier(s).Program)
	}
	for _, f := range clients.Files() {
		paths = append(paths, f+".bak-*")
	}
	home, _ := os.UserHomeDir()
	for _, p := range s.Plugins {
		paths = append(paths, p.Source, toolfile.Beside(p.Source))
		paths = append(paths, hostfuncs.SecretFiles(p.Grants, home)...)
	}
	for _, f := range files {
		paths = append(paths, f.Path, toolfile.Beside(f.Path))
	}
	return slices.DeleteFunc(paths, func(p string) bool { return p == "" })
}

func (h *Host) registryOptions(o Options) registry.Options {
	s := h.settings
	r := registry.Options{
		Engine:   h.Engine,
		Host:     h.Gates,
		State:    s.Text("state"),
		Logger:   h.log,
		Dialects: Dialects(),
		Defaults: Limits(s, settings.Limits{}),
		Files:    o.Files,
		Lock:     o.Lock,
	}
	if o.Files != nil {
		r.Logger = logging.Quiet(s, h.log) // the command itself reports the state of its file
	} else {
		r.Dir = s.Text("dir")
		r.Typed = s.Typed()
		r.Plugins = pluginConfigs(s)
	}
	return r
}

// Close closes the components in reverse order.
func (h *Host) Close(ctx context.Context) error {
	var err error
	if h.Registry != nil {
		err = h.Registry.Close(ctx)
	}
	h.Gates.Close()
	return errors.Join(err, h.audit.Close(), h.Store.Close(), h.Engine.Close(ctx))
}
