package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/logging"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/internal/heap"
	"github.com/sallyport-mcp/sallyport/protocol"
	wire "github.com/sallyport-mcp/sallyport/transport/stdio"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

// drain is the time for running calls to finish after a host without HTTP was asked to stop.
const drain = 10 * time.Second

// afterDrain is the time to close the rest after the calls over HTTP had theirs.
const afterDrain = 2 * time.Second

func newServe(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "serve a folder over stdio, or over HTTP with --http",
		Long: `Serve the plugins of a folder: over stdio to the MCP client that starts this program, or with --http to clients that
connect. Without DIR it is the folder that dir in the configuration names, or else plugins beside the configuration
file. Files that are added, changed or removed meanwhile are noticed.`,
		Args: words(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSettings(c, optional(args))
			if err != nil {
				return err
			}
			return serve(c.Context(), s, std)
		},
	}
	c.Flags().String("http", "", "`address` to serve HTTP on: 127.0.0.1:8470 or unix:/path")
	c.Flags().Bool("no-token", false, "answer without a token; loopback and unix sockets only")
	c.Flags().String("tls-cert", "", "certificate chain, PEM `file`")
	c.Flags().String("tls-key", "", "private key, PEM `file`")
	c.Flags().String("admin", "", "`address` of metrics, health, readiness and profiles: 127.0.0.1:9470 or unix:/path")
	c.Flags().Bool("admin-remote", false, "let other machines reach the address of --admin")
	c.Flags().Bool("search", false, "list two tools, to search and to call, in place of all")
	c.Flags().Bool("legacy-sse", false, "serve clients of 2024-11-05 too, at /sse")
	addLockFlags(c)
	c.Flags().Bool("behind-proxy", false, "a proxy in front ends TLS")
	return c
}

// optional returns the first argument, "" if there is none.
func optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// serve runs until its input ends or ctx is done.
func serve(ctx context.Context, s *settings.Settings, std stdio) (err error) {
	defer heap.DelayCollection()()
	if err := checkDir(s.Text("dir")); err != nil {
		return err
	}
	std.detach(s)
	end := newEnding(ctx, endTime(s))
	sink, err := logging.OpenFor(s, std.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	log := logging.For(s, sink)
	warn(s, log)
	web, err := listenHTTP(ctx, s, log)
	if errors.Is(err, syscall.EADDRINUSE) {
		return ui.Hint(err, "another program serves there; choose another port with --http 127.0.0.1:PORT")
	}
	if err != nil {
		return err
	}
	defer web.close()
	seen, err := observe(ctx, s, std, log)
	if err != nil {
		return err
	}
	defer seen.close()
	l, err := host.OpenServedLock(s, seen.took)
	if err != nil {
		return err
	}
	seen.ready.lock.Store(l)
	h, err := host.Open(ctx, host.Options{Settings: s, Logger: log, Lock: l, Ended: seen.call, Waited: seen.waited, Took: seen.took, Audited: seen.audited})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeWithin(end.left(), h.Close)) }()
	leave, err := h.Console(std.err, ui.IsTerminal(os.Stderr), offered)
	if err != nil {
		return err
	}
	defer leave()
	defer h.Follow(ctx)()
	defer seen.await(ctx, h.Registry)()
	return serving{settings: s, std: std, log: log, end: end, seen: seen}.answer(ctx, h, web)
}

// serving is one run of the command.
type serving struct {
	settings *settings.Settings
	std      stdio
	log      *slog.Logger
	end      *ending
	seen     *observed
}

// answer handles the messages of HTTP clients, or of standard input if web is nil.
func (r serving) answer(ctx context.Context, h *host.Host, web *endpoint) (err error) {
	keys, err := stateKeys(r.settings)
	if err != nil {
		return err
	}
	defer keys.Follow(ctx, func(err error) {
		r.log.Error("changed state keys are not in force: the ones before stay", "error", err)
	})()
	server := protocol.NewServer(h.Registry, &protocol.Options{
		Name: "sallyport", Version: host.Version(), Store: h.Store, Met: h.Met, Site: siteOf(r.settings.Text("dir")),
		Search: r.settings.Bool("search"), Keys: keys.Keys(), AskTime: r.settings.Duration("limits.ask"),
		Tasks: r.settings.Count("limits.tasks"), Logger: r.log, Observe: r.seen.request,
	})
	defer func() { err = errors.Join(err, closeWithin(r.end.left(), server.Close)) }()
	r.seen.read(h, server)
	if web != nil {
		ctx, stop := lingering(ctx, r.settings)
		defer stop()
		defer announceEnd(ctx, r.log, server)()
		if r.settings.Text("store") != "" {
			web.options.Store = h.Store // other hosts serve the sessions too
		}
		return web.serve(ctx, r.settings, server, r.std)
	}
	defer announceEnd(ctx, r.log, server)()
	err = wire.Serve(ctx, server, r.std.in, r.std.out, &wire.Options{Logger: r.log})
	if err != nil { // the connection failed: do not wait for calls
		r.end.hurry()
	}
	return err
}

// endTime returns the time from the signal to stop until the last component has to be closed.
func endTime(s *settings.Settings) time.Duration {
	if s.Text("http.addr") == "" {
		return drain
	}
	return s.Duration("http.linger") + s.Duration("http.drain") + afterDrain
}

// warn logs settings that have no effect yet, and those that believe more than they may mean.
func warn(s *settings.Settings, log *slog.Logger) {
	reach := streamable.Options{Addr: s.Text("http.addr")}
	if s.Bool("http.behind_proxy") && len(s.List("http.proxies")) == 0 && !reach.Local() {
		log.Warn("http.proxies names no proxy: every program that reaches "+s.Text("http.addr")+" is taken for the proxy", "see", "docs/operating.md")
	}
	for _, name := range settings.Strays() {
		log.Warn("the variable "+name+" sets nothing", "known", "see sallyport config")
	}
	if _, err := os.Stat(s.Text("dir")); err != nil {
		log.Warn("the plugin folder cannot be read yet", "dir", s.Text("dir"), "error", err)
	}
}

// announceEnd logs the number of running calls once ctx is done. If ctx is done, wait blocks until that is logged.
func announceEnd(ctx context.Context, log *slog.Logger, server *protocol.Server) (wait func()) {
	said := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(said)
		switch n := server.Calls(); n {
		case 0:
			log.Info("ending: no call runs")
		case 1:
			log.Info("ending: 1 call finishes first")
		default:
			log.Info(fmt.Sprintf("ending: %d calls finish first", n))
		}
	})
	return func() {
		if !stop() {
			<-said
		}
	}
}

// siteOf returns an identity of a plugin folder, independent of the path by which it is reached.
func siteOf(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// stateKeys returns the keys that seal continuations: those of the configured file, or else the host's own.
func stateKeys(s *settings.Settings) (*userfile.KeyFile, error) {
	if file := s.Text("state_keys"); file != "" {
		return userfile.SharedKeys(file)
	}
	return userfile.OwnKeys(s.State().Keys())
}

// ending is the deadline shared by all components that stop together.
type ending struct {
	after time.Duration
	once  sync.Once
	until time.Time
}

// newEnding returns an ending, after a time that starts when ctx is done, or at the first call of left.
func newEnding(ctx context.Context, after time.Duration) *ending {
	e := &ending{after: after}
	context.AfterFunc(ctx, e.begin)
	return e
}

func (e *ending) begin() { e.once.Do(func() { e.until = time.Now().Add(e.after) }) }

// hurry sets the deadline to now.
func (e *ending) hurry() {
	e.begin()
	e.until = time.Now()
}

// left returns the remaining time, one second at least, which is enough for idle components.
func (e *ending) left() time.Duration {
	e.begin()
	return max(time.Until(e.until), time.Second)
}

// closeGrace is the extra time for a close function after its deadline.
const closeGrace = time.Second

// closeWithin runs end with its own deadline, since the run's context is done by then. An end that does not return is
// abandoned until the process exits.
func closeWithin(d time.Duration, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- end(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(d + closeGrace):
		return errors.New("running calls did not stop in time, and are abandoned")
	}
}
