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
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/statekeys"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/terminal"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	wire "github.com/sallyport-mcp/sallyport/transport/stdio"
)

// drain is how long what runs may go on after the host was asked to stop.
const drain = 10 * time.Second

func newServe(std stdio) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "serve a folder over stdio, or over HTTP with --http",
		Args:  words(0, 1),
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
	c.Flags().Bool("search", false, "list two tools, to search and to call, in place of all")
	c.Flags().Bool("legacy-sse", false, "serve clients of 2024-11-05 too, at /sse")
	addLockFlags(c)
	c.Flags().Bool("behind-proxy", false, "a proxy in front ends TLS")
	return c
}

// optional is the one argument that may be there.
func optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// serve runs until its input ends or ctx is done.
func serve(ctx context.Context, s *settings.Settings, std stdio) (err error) {
	if err := checkDir(s.Text("dir")); err != nil {
		return err
	}
	if screen, ok := std.err.(*logging.Screen); ok {
		screen.Detach(s.Bool("log.json")) // a client that does not read it must not stop the host
	}
	end := newEnding(ctx)
	sink, err := logging.OpenFor(s, std.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	log := logging.For(s, sink)
	for _, name := range settings.Strays() {
		log.Warn("the variable "+name+" sets nothing", "known", "see sallyport config")
	}
	if _, err := os.Stat(s.Text("dir")); err != nil {
		log.Warn("the plugin folder cannot be read yet", "dir", s.Text("dir"), "error", err)
	}
	web, err := listenHTTP(s, log)
	if errors.Is(err, syscall.EADDRINUSE) {
		return voice.Hint(err, "another program serves there; choose another port with --http 127.0.0.1:PORT")
	}
	if err != nil {
		return err
	}
	defer web.close()
	l, err := host.OpenLock(s, lock.Options{})
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Options{Settings: s, Logger: log, Lock: l})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeWithin(end.left(), h.Close)) }()
	leave, err := h.Console(std.err, terminal.Is(os.Stderr))
	if err != nil {
		return err
	}
	defer leave()
	defer h.Follow(ctx)()
	keys, err := stateKeys(s)
	if err != nil {
		return err
	}
	defer keys.Follow(ctx, func(err error) { log.Error("changed state keys are not in force: the ones before stay", "error", err) })()
	server := protocol.NewServer(h.Registry, &protocol.Options{Name: "sallyport", Version: host.Version(), Store: h.Store, Met: h.Met, Site: siteOf(s.Text("dir")),
		Search: s.Bool("search"), Keys: keys.Keys(), AskTime: s.Duration("limits.ask"), Tasks: s.Count("limits.tasks"), Logger: log})
	defer func() { err = errors.Join(err, closeWithin(end.left(), server.Close)) }()
	defer announceEnd(ctx, log, server)()
	if web != nil {
		return web.serve(ctx, s, server, std)
	}
	err = wire.Serve(ctx, server, std.in, std.out, &wire.Options{Logger: log})
	if err != nil { // what did not stop yet will not
		end.hurry()
	}
	return err
}

// announceEnd has the log say which calls finish first once ctx is done. The function that it returns waits for that.
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

// siteOf names a plugin folder, by whatever path it is reached.
func siteOf(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// stateKeys are the keys that seal the calls which wait for an answer: those of the file that the operator names, or else
// this host's own.
func stateKeys(s *settings.Settings) (*statekeys.File, error) {
	if file := s.Text("state_keys"); file != "" {
		return statekeys.Shared(file)
	}
	return statekeys.Own(s.OwnKeysFile())
}

// ending is the time that is left once the host was asked to stop, for all that has to end together.
type ending struct {
	once  sync.Once
	until time.Time
}

// newEnding is an ending that begins with the end of ctx, or when somebody asks what is left.
func newEnding(ctx context.Context) *ending {
	e := &ending{}
	context.AfterFunc(ctx, e.begin)
	return e
}

func (e *ending) begin() { e.once.Do(func() { e.until = time.Now().Add(drain) }) }

// hurry leaves no time.
func (e *ending) hurry() {
	e.begin()
	e.until = time.Now()
}

// left is a second at least, which is enough for what is idle.
func (e *ending) left() time.Duration {
	e.begin()
	return max(time.Until(e.until), time.Second)
}

// closeGrace is how long something may take beyond its time, once it was told that this is over.
const closeGrace = time.Second

// closeWithin gives close its own bounded time: the run's context is over by then. What does not end even then is left
// behind, for the end of the process.
func closeWithin(d time.Duration, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- end(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(d + closeGrace):
		return errors.New("what runs did not stop in time, and is left behind")
	}
}
