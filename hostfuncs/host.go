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

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/denylist"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/trace"
)

// Options configure a Host. The zero value is usable.
type Options struct {
	// Logger receives plugin logs and denials; nil discards them.
	Logger *slog.Logger
	// Home is the operator's home folder, the value of ~ in grants; empty matches nothing.
	Home string
	// Audit receives one line per call, and callers then get receipts; nil disables both. The host does not close it.
	Audit *audit.Log
	// FullReceipts sends HTTP callers the touched targets too, not only their counts.
	FullReceipts bool
	// Operator is asked about effects that a plugin declared and no line allows; nil asks no one.
	Operator Operator
	// Advise returns the command that adds a line to a plugin's grants; with local, it may contain paths of this
	// host. Nil suggests the line alone.
	Advise func(plugin, line string, local bool) string
	// Flags are the command-line flags that locate the files of this host. Only callers of this machine see them.
	Flags string
	// Forms takes the plugins' questions that the client of a call does not support; nil takes none.
	Forms *elicit.Desk
	// Store keeps the plugins' keys and values; nil disables kv methods. The host does not close it.
	Store *store.Store
	// State is the folder for persistent and pending state; empty is a folder of this user in the system's folder for
	// temporary files.
	State string
	// Protected are host paths that no grant reaches, with everything below them: Sallyport's own configuration,
	// state, cache and plugin folders, and the settings of clients. They need not exist. A path that ends in * covers
	// every path with that prefix. State and the files of secrets are always protected.
	Protected []string
	// Web configures outgoing requests.
	Web egress.Options
	// Trace selects the trace context that outgoing requests carry; zero is traceparent alone.
	Trace trace.Upstream
	// Reached is called for each step of a commit, see commit.Watch; nil is not called.
	Reached func(step string)
	// Seed derives the placeholders of secrets: equal seeds give equal placeholders. Empty takes a random seed for
	// this host.
	Seed []byte
}

// Host makes the policies of plugins and owns their shared state. It is safe for concurrent use.
type Host struct {
	logger *slog.Logger
	places grant.Places
	homes  []string // paths of the operator's home, as given and resolved
	state  string
	audit  *audit.Log
	store  *store.Store
	// operator is nil if no operator is asked.
	operator Operator
	advise   func(plugin, line string, local bool) string
	flags    string
	forms    *elicit.Desk
	// fullReceipts sends full receipts to all callers.
	fullReceipts bool
	protected    atomic.Pointer[denylist.Paths]
	web          egress.Options
	upstream     trace.Upstream
	seed         []byte
	reached      func(string)
	caller       atomic.Pointer[Caller]
	methods      map[string]method // never changed after NewHost
	families     map[string]family // never changed after NewHost
	questions    map[string]question
	stop         context.Context // done when the host is closed
	cancel       context.CancelFunc

	mu       sync.Mutex
	policies map[*Policy]struct{} // open ones
	given    []string             // last argument of Protect
	secrets  []string             // files of secrets of all policies so far
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
		families:  familyTable(),
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
		h.seed = secret.NewVaultKey()
	}
	h.setDefaults()
	h.Protect(o.Protected)
	return h
}

// placesOf determines the operator's home and the links in the root folder, which only the system creates. Windows
// and macOS fold case by default.
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
	top, _ := os.ReadDir("/") // none on Windows, where no links belong to the system
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

// Protect replaces the paths that no grant reaches, for later calls. The state folder and the files of secrets stay
// protected.
func (h *Host) Protect(paths []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given = slices.Clone(paths)
	h.protect()
}

// protect requires h.mu.
func (h *Host) protect() {
	p := denylist.New(slices.Concat(h.given, []string{h.state}, h.secrets))
	h.protected.Store(&p)
}

// hide protects the files of a policy's secrets from every plugin until the host is closed: a secret's value is
// loaded, and redacted from answers, only from its first use on.
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

// SecretFiles returns the files that hold the secrets of a set.
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

// Places returns the locations that grants for files refer to on this machine.
func (h *Host) Places() grant.Places { return h.places }

// Close cancels pending requests of this host's gates and closes every connection. Later calls of Ask fail.
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

// shown returns a path as an operator writes it, with ~ for the home folder.
func (h *Host) shown(path string) string {
	for _, home := range h.homes {
		rest, found := strings.CutPrefix(path, strings.TrimSuffix(home, string(filepath.Separator)))
		if found && (rest == "" || rest[0] == filepath.Separator) {
			return "~" + filepath.ToSlash(rest)
		}
	}
	return path
}
