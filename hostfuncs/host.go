package hostfuncs

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sallyport-mcp/sallyport/hostfuncs/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/form"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/protected"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/trace"
	"github.com/sallyport-mcp/sallyport/hostfuncs/vault"
	"github.com/sallyport-mcp/sallyport/hostfuncs/web"
)

// Options configure a Host. The zero value is usable.
type Options struct {
	// Logger takes what plugins log and what the gate refuses; nil discards.
	Logger *slog.Logger
	// Home is the operator's home folder, which ~ stands for in grants; empty matches nothing.
	Home string
	// Audit takes a line for each call, and then callers get receipts; nil is no log and no receipts. The
	// host does not close it.
	Audit *audit.Log
	// FullReceipts tells callers over HTTP too what was touched, not only how often.
	FullReceipts bool
	// Operator is asked about what a plugin announced and no line allows; nil is nobody.
	Operator Operator
	// Advise says what a person types to add a line to those of a plugin; local callers may know the paths of this
	// host. Nil is the line alone.
	Advise func(plugin, line string, local bool) string
	// Flags are those with which a command finds the files of this host, as a person types them; callers of this machine
	// are told them.
	Flags string
	// Forms is where plugins ask what the client of a call has no way to be asked; nil is nobody.
	Forms *form.Desk
	// Store keeps what plugins keep; nil keeps nothing. The host does not close it.
	Store *store.Store
	// State is the folder for what is kept and for what is on its way; empty is one of this user's in the
	// system's folder for temporary files.
	State string
	// Protected are paths of the host that no grant reaches, with all below them: Sallyport's own
	// configuration, state, cache and plugin folders, the settings of clients. They need not exist; one that ends in * is every path that begins so.
	// State is one of them, and so are the files of secrets.
	Protected []string
	// Web is how requests leave this machine.
	Web web.Options
	// Trace is how much of a call's trace its requests carry; zero is traceparent alone.
	Trace trace.Upstream
	// Reached hears of each step of a landing, see landing.Watch; nil is nobody.
	Reached func(step string)
	// Seed makes the placeholders of secrets; who has the same makes the same. Empty is one of this host
	// alone.
	Seed []byte
}

// Host makes the policies of plugins and owns what they share. It is safe for concurrent use.
type Host struct {
	logger *slog.Logger
	places grant.Places
	homes  []string // the names of the operator's home
	state  string
	audit  *audit.Log
	store  *store.Store
	// operator is nil if nobody is asked.
	operator Operator
	advise   func(plugin, line string, local bool) string
	flags    string
	forms    *form.Desk
	// fullReceipts are for everybody.
	fullReceipts bool
	protected    atomic.Pointer[protected.Paths]
	web          web.Options
	upstream     trace.Upstream
	seed         []byte
	reached      func(string)
	caller       atomic.Pointer[Caller]
	methods      map[string]method // never changed after NewHost
	questions    map[string]question
	stop         context.Context // done when the host is closed
	cancel       context.CancelFunc

	mu       sync.Mutex
	policies map[*Policy]struct{} // not closed yet
	given    []string             // the last of Protect
	secrets  []string             // files of secrets of any policy there was
}

// NewHost returns a host; nil options are the zero value.
func NewHost(o *Options) *Host {
	if o == nil {
		o = &Options{}
	}
	h := &Host{
		logger: o.Logger,
		places: placesOf(o.Home),
		state:  o.State,
		audit:  o.Audit,
		store:  o.Store,

		operator: o.Operator,
		advise:   o.Advise,
		flags:    o.Flags,
		forms:    o.Forms,

		fullReceipts: o.FullReceipts,

		web:       o.Web,
		upstream:  o.Trace,
		reached:   o.Reached,
		methods:   methods(),
		questions: questions(),
		policies:  map[*Policy]struct{}{},
	}
	if h.homes = append(h.homes, o.Home); o.Home == "" {
		h.homes = nil
	} else if real, err := filepath.EvalSymlinks(o.Home); err == nil && real != o.Home {
		h.homes = append(h.homes, real)
	}
	h.stop, h.cancel = context.WithCancel(context.Background())
	if h.seed = slices.Clone(o.Seed); len(h.seed) == 0 {
		h.seed = vault.NewKey()
	}
	h.setDefaults()
	h.Protect(o.Protected)
	return h
}

// placesOf finds out about the operator's home, and about the links of the system: those in the topmost folder, which
// nobody else makes. The usual file systems of two systems fold case.
func placesOf(home string) grant.Places {
	p := grant.Places{Home: home, Fold: goruntime.GOOS == "windows" || goruntime.GOOS == "darwin", Repository: isRepository}
	link := func(from string) {
		if real, err := filepath.EvalSymlinks(from); err == nil && real != from {
			p.Links = append(p.Links, grant.Link{From: filepath.ToSlash(from), To: filepath.ToSlash(real)})
		}
	}
	if home != "" {
		link(filepath.Clean(home))
	}
	top, _ := os.ReadDir("/") // none on Windows, where links are no part of the system
	for _, entry := range top {
		if entry.Type()&fs.ModeSymlink != 0 {
			link("/" + entry.Name())
		}
	}
	return p
}

func (h *Host) setDefaults() {
	if h.logger == nil {
		h.logger = slog.New(slog.DiscardHandler)
	}
	if h.state == "" {
		h.state = filepath.Join(os.TempDir(), fmt.Sprintf("sallyport-%d", os.Getuid()))
	}
}

// Protect replaces the paths that no grant reaches, for the calls that begin later. The state folder and the files of
// secrets stay among them.
func (h *Host) Protect(paths []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given = slices.Clone(paths)
	h.protect()
}

// protect is called with h.mu held.
func (h *Host) protect() {
	p := protected.New(slices.Concat(h.given, []string{h.state}, h.secrets))
	h.protected.Store(&p)
}

// hide takes the files of a policy's secrets out of every plugin's reach, until the host is closed: what is in one is
// only known, and taken out of answers, after its first use.
func (h *Host) hide(set *grant.Set) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.secrets)
	for _, file := range SecretFiles(set, h.places.Home) {
		if !slices.Contains(h.secrets, file) {
			h.secrets = append(h.secrets, file)
		}
	}
	if len(h.secrets) > before {
		h.protect()
	}
}

// SecretFiles are the files that secrets of a set come from.
func SecretFiles(set *grant.Set, home string) (files []string) {
	for _, s := range set.Secrets() {
		from, err := secret.ParseSource(s.From)
		if err != nil || from.Kind != secret.File {
			continue
		}
		file := from.Name
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(home, rest)
		}
		files = append(files, file)
	}
	return files
}

// Places is where grants for files apply on this machine.
func (h *Host) Places() grant.Places { return h.places }

// Close ends what the gates of this host have under way and closes every connection. Calls of Ask
// that come later are refused.
func (h *Host) Close() {
	h.cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.policies {
		p.net.Close()
	}
	clear(h.policies)
}

func (h *Host) add(p *Policy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.policies[p] = struct{}{}
}

func (h *Host) remove(p *Policy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.policies, p)
}
