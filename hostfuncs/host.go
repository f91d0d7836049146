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
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
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
	// Ended is called with the record of each call that ends, nested ones too, from any goroutine; nil is not called. It
	// needs Audit, and must return soon.
	Ended func(receipt.Receipt, receipt.Caller)
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
	// Usage counts calls for the quotas of their callers; nil counts none.
	Usage *usage.Meter
	// State is the folder for persistent and pending state; empty is a folder of this user in the system's folder for
	// temporary files.
	State string
	// Protected are host paths that no grant reaches, with everything below them: Sallyport's own configuration,
	// state, cache and plugin folders, and the settings of clients. They need not exist. A path that ends in * covers
	// every path with that prefix. State and the files of secrets are always protected.
	Protected []string
	// Web configures outgoing requests.
	Web egress.Options
	// Recordings keeps the calls of plugins with Record; nil keeps none.
	Recordings *recording.Folder
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
	options   Options // with defaults
	places    grant.Places
	homes     []string // paths of the operator's home, as given and resolved
	effects   *effects
	protected protection
	caller    atomic.Pointer[Caller]

	pseudonyms pseudonyms
	stop       context.Context // done when the host is closed
	cancel     context.CancelFunc

	mu       sync.Mutex
	policies map[*Policy]struct{} // open ones
}

// NewHost returns a host; nil options are the zero value.
func NewHost(o *Options) *Host { return newHost(o, families()) }

// newHost returns a host with a table of families.
func newHost(o *Options, rows []family) *Host {
	if o == nil {
		o = &Options{}
	}
	h := &Host{options: *o, places: placesOf(o.Home), effects: newEffects(rows), policies: map[*Policy]struct{}{}}
	h.options.setDefaults()
	if h.homes = append(h.homes, o.Home); o.Home == "" {
		h.homes = nil
	} else if real, err := filepath.EvalSymlinks(o.Home); err == nil && real != o.Home {
		h.homes = append(h.homes, real)
	}
	h.stop, h.cancel = context.WithCancel(context.Background())
	h.protected.state = h.options.State
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

// setDefaults fills the fields that a host needs.
func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.State == "" {
		o.State = filepath.Join(os.TempDir(), fmt.Sprintf("sallyport-%d", os.Getuid()))
	}
	if o.Seed = slices.Clone(o.Seed); len(o.Seed) == 0 {
		o.Seed = secret.NewVaultKey()
	}
}

// protection is the set of paths that no grant reaches. It is safe for concurrent use.
type protection struct {
	paths atomic.Pointer[denylist.Paths]
	state string // the state folder

	mu      sync.Mutex
	given   []string // last argument of Protect
	secrets []string // files of secrets of all policies so far
}

// update publishes the paths. It requires p.mu.
func (p *protection) update() {
	paths := denylist.New(slices.Concat(p.given, []string{p.state}, p.secrets))
	p.paths.Store(&paths)
}

// hide protects the files of secrets from every plugin until the host is closed: a secret's value is loaded, and
// redacted from answers, only from its first use on.
func (p *protection) hide(files []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.secrets)
	for _, file := range files {
		if !slices.Contains(p.secrets, file) {
			p.secrets = append(p.secrets, file)
		}
	}
	if len(p.secrets) > before {
		p.update()
	}
}

// Protect replaces the paths that no grant reaches, for later calls. The state folder and the files of secrets stay
// protected.
func (h *Host) Protect(paths []string) {
	p := &h.protected
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = slices.Clone(paths)
	p.update()
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

// advice returns the command that adds a line to a plugin's grants. With flags, it names the files of this host.
func (h *Host) advice(plugin, line string, flags bool) string {
	if h.options.Advise != nil && line != "" {
		return h.options.Advise(plugin, line, flags)
	}
	return line
}
