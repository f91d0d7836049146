package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/internal/filelock"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/transport/console"
)

// A state folder has one console, however many hosts run: the process that holds its lock serves it, and has written
// the address to an owner-only file. When that process exits, another one takes over within a second, with its own
// token: an address is valid for one process.

// leaseInterval is the interval at which a host checks whether the console is free, and the least time between two updates
// of its own entry in it.
const leaseInterval = time.Second

// ErrNoConsole is returned when the console is off in the configuration.
var ErrNoConsole = errors.New("there is no console: the configuration says console: off")

// consoleLease is the role of the one process that serves the console.
type consoleLease struct {
	settings *settings.Settings
	addr     string // as in the configuration
	log      *slog.Logger
	make     func() *console.Console

	lock   *os.File // nil unless this process serves the console
	page   *console.Console
	url    string
	warned bool
}

// consoleAddress is the content of the console's file.
type consoleAddress struct {
	URL string `json:"url"`
}

// acquire tries to take the role, and reports whether this process serves the console now.
func (t *consoleLease) acquire() bool {
	if t.page != nil {
		return true
	}
	if err := t.serve(); err != nil {
		t.release()
		if !t.warned {
			t.warned = true
			t.log.Warn("there is no console page", "error", err)
		}
	}
	return t.page != nil
}

func (t *consoleLease) serve() error {
	f, err := os.OpenFile(t.settings.State().Console()+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	free, err := filelock.Try(f)
	if err != nil || !free {
		return errors.Join(err, f.Close())
	}
	t.lock = f
	port, page := lastPort(t.settings), t.make()
	if err := os.Remove(t.settings.State().Console()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // remove the old address first
	}
	if t.url, err = listen(page, t.addr, port); err != nil {
		return err
	}
	t.page = page
	raw, err := json.Marshal(consoleAddress{URL: t.url})
	if err == nil {
		_, err = userfile.Change(t.settings.State().Console(), func([]byte) ([]byte, error) { return raw, nil }, userfile.Options{Fleeting: true})
	}
	return err
}

// listen serves the page on its previous port if the configured port is 0 and the previous one is free.
func listen(page *console.Console, addr, port string) (string, error) {
	host, own, err := net.SplitHostPort(addr)
	if err == nil && own == "0" && port != "" {
		if at, err := page.Listen(net.JoinHostPort(host, port)); err == nil {
			return at, nil
		}
	}
	return page.Listen(addr)
}

// lastPort returns the previous port of the console, "" if unknown.
func lastPort(s *settings.Settings) string {
	at, err := readConsoleAddress(s)
	if err != nil {
		return ""
	}
	u, err := url.Parse(at.URL)
	if err != nil {
		return ""
	}
	return u.Port()
}

func readConsoleAddress(s *settings.Settings) (w consoleAddress, err error) {
	raw, err := userfile.Read(s.State().Console())
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &w)
	}
	return w, err
}

// release gives up the role. The file stays, so that the next process can use the same port.
func (t *consoleLease) release() {
	if t.page != nil {
		_ = t.page.Close()
	}
	if t.lock != nil {
		_ = t.lock.Close()
	}
	t.page, t.lock, t.url = nil, nil, ""
}

// Console serves the console of the state folder while no other process does, and publishes this host's state for it.
// Over HTTP it prints to out how to open the console, with the address if out is read by a person. Call it before any
// tool call, and call stop at the end. offering prepares the plugins that are added on the page.
func (h *Host) Console(out io.Writer, person bool, offering Offering) (stop func(), err error) {
	t, err := newConsoleLease(h.settings, h.log, func() *console.Console {
		return console.New(console.Options{Store: h.Store, Note: h.note, Backend: newBackend(h.settings, h.Store, h.note, offering), Logger: h.log})
	})
	if errors.Is(err, ErrNoConsole) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	if h.settings.Text("http.addr") != "" {
		t.acquire()
		fmt.Fprintln(out, opensConsole(t, person))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var keeping sync.WaitGroup
	keeping.Go(func() { // in the background: a client on stdio waits for its first answer
		defer t.release()
		here, err := newPublisher(h)
		if err != nil {
			h.log.Warn("the console does not show this host", "error", err)
			here = nil
		}
		h.keepConsole(ctx, t, here)
	})
	return func() {
		cancel()
		keeping.Wait()
	}, nil
}

// keepConsole takes over the console when it is free, and keeps this host's published state current.
func (h *Host) keepConsole(ctx context.Context, t *consoleLease, here *publisher) {
	k := consoleKeeper{acquire: t.acquire, refresh: func() error { return nil }, failed: func(err error) {
		h.log.Warn("the console does not show this host as it is", "error", err)
	}, stirred: h.stirred, after: time.After}
	if here != nil {
		defer here.end()
		defer h.Registry.Watch(func(catalog.Change) { h.stir() })()
		k.refresh = here.refresh
	}
	k.run(ctx)
}

// consoleKeeper is the state of keepConsole. It has no timer while its process serves the console and nothing changes.
type consoleKeeper struct {
	acquire func() (serves bool)
	refresh func() error // publishes the host's state if it changed
	failed  func(error)  // called at the first failure of refresh, which is tried again
	stirred <-chan struct{}
	after   func(time.Duration) <-chan time.Time
}

func (k *consoleKeeper) run(ctx context.Context) {
	for failed := false; ; {
		done := k.acquire()
		if err := k.refresh(); err != nil {
			if done = false; !failed {
				failed = true
				k.failed(err)
			}
		}
		var again <-chan time.Time
		if !done {
			again = k.after(leaseInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
			continue
		case <-k.stirred:
		}
		select {
		case <-ctx.Done():
			return
		case <-k.after(leaseInterval): // changes until then are published together
		}
	}
}

func newConsoleLease(s *settings.Settings, log *slog.Logger, make func() *console.Console) (*consoleLease, error) {
	addr := s.Text("console")
	if addr == "off" {
		return nil, ErrNoConsole
	}
	if err := console.Check(addr); err != nil {
		return nil, ui.Hint(err, "console: off has no such page")
	}
	return &consoleLease{settings: s, addr: addr, log: log, make: make}, nil
}

// opensConsole returns the line that says how to open the console. The address contains a token: it is shown at a
// terminal, and not to a client that keeps its servers' output.
func opensConsole(t *consoleLease, person bool) string {
	if person && t.url != "" {
		return "the console is on " + t.url
	}
	return ui.Line("the console: " + ConsoleCommand(t.settings))
}

// ConsoleCommand returns the command that opens the console of these settings.
func ConsoleCommand(s *settings.Settings) string {
	if flags := s.Flags(); flags != "" {
		return "sallyport console " + flags
	}
	return "sallyport console"
}

// FindConsole returns the console's address with its token. If no other process serves the console, this one does until
// stop is called, and serving is true.
func FindConsole(s *settings.Settings, log *slog.Logger, offering Offering) (at string, serving bool, stop func(), err error) {
	if err := userfile.MakeFolder(s.Text("state")); err != nil {
		return "", false, nil, err
	}
	kept := OpenStore(s)
	t, err := newConsoleLease(s, log, func() *console.Console {
		note := NoteOnce(s)
		return console.New(console.Options{Store: kept, Note: note, Backend: newBackend(s, kept, note, offering), Logger: log})
	})
	if err != nil {
		return "", false, nil, errors.Join(err, kept.Close())
	}
	stop = func() {
		t.release()
		_ = kept.Close() // there are no pending writes
	}
	if err := t.serve(); err != nil {
		stop()
		return "", false, nil, err
	}
	if t.page != nil {
		return t.url, true, stop, nil
	}
	stop()
	at, err = awaitConsoleAddress(s)
	return at, false, func() {}, err
}

// awaitConsoleAddress returns the address that the serving process has written or is about to write, and an error after
// leaseInterval. It polls, since that is at most fifty reads of a small file, once in a command, and a watch of the
// folder would have to poll too where the system has none.
func awaitConsoleAddress(s *settings.Settings) (string, error) {
	for end := time.Now().Add(leaseInterval); ; {
		w, err := readConsoleAddress(s)
		switch {
		case err == nil && w.URL != "":
			return w.URL, nil
		case time.Now().After(end):
			return "", errors.Join(errors.New("the host that serves the console has not said where: try again"), err)
		}
		time.Sleep(leaseInterval / 50)
	}
}

// note appends an answer to the audit log of this host and syncs it to disk before the answer takes effect.
func (h *Host) note(a consent.Answered) error {
	return noteIn(h.audit)(a)
}

// shown returns the console's view of each plugin.
func (h *Host) shown() []console.Plugin {
	all := []console.Plugin{}
	for _, p := range h.Registry.Plugins() {
		if p.File != "" {
			all = append(all, console.Plugin{
				Name: p.Name, State: string(p.State), Version: p.Version, Error: p.Error, Wants: p.Wants, Grants: p.Grants, Ceilings: p.Ceilings, Waits: p.Waits, Rejected: p.Rejected,
			})
		}
	}
	return all
}
