package protocol

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
	"github.com/sallyport-mcp/sallyport/protocol/era"
	"github.com/sallyport-mcp/sallyport/protocol/greeting"
	"github.com/sallyport-mcp/sallyport/protocol/listing"
	"github.com/sallyport-mcp/sallyport/protocol/parked"
	"github.com/sallyport-mcp/sallyport/protocol/resume"
	"github.com/sallyport-mcp/sallyport/protocol/sealed"
	"github.com/sallyport-mcp/sallyport/protocol/session"
	"github.com/sallyport-mcp/sallyport/protocol/task/runner"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
)

// Catalog is where a Server finds what it offers; *registry.Registry is the implementation.
type Catalog interface {
	// Snapshot returns the present state, which never changes. It is called for each request from
	// any goroutine, and is cheap.
	Snapshot() *catalogue.Snapshot
	// Watch calls f after each change, one call at a time, until stop is called.
	Watch(f func(catalogue.Change)) (stop func())
}

// Options configure a Server. The zero value of each field is usable.
type Options struct {
	Name         string // what clients see as the server's name; "" is sallyport
	Version      string // "" is 0.0.0
	Instructions string // guidance for the model, part of the handshake; "" leaves it out

	// Search lists two tools, one to search for tools and one to call them by name, in place of all.
	Search bool

	// PageSize is how many entries a page of a list has at most; 0 is 1000. Many clients read
	// only the first page.
	PageSize int
	// ListTTL is how long modern clients may keep a list; 0 tells them to ask each time.
	ListTTL time.Duration
	// Keys seal the calls that wait for a client's answers. Servers that have the same keys go on with
	// each other's, and with each other's tasks; nil is keys of this server's own, which takes no tasks over.
	Keys *sealed.Keys
	// AskTime is how long a client may take to answer one round of questions; 0 is 10 minutes.
	AskTime time.Duration
	// Site names where the catalogue comes from, such as its folder: of the tasks that a server of the same site left
	// behind, those whose tool has gone are failed here, and nowhere else.
	Site string
	// Tasks is how many tasks of one caller may go on at once; 0 is 256.
	Tasks int
	// Store keeps tasks, answers that are too large to be sent at once, and those of calls with an idempotency
	// key; nil keeps tasks in memory and no answers. The server does not close it.
	Store *store.Store
	// Met is told how a client calls itself, once for each connection and name: a claim, which nobody checks. Nil is
	// nobody. It may be called from any goroutine.
	Met func(client string)
	// Logger takes what must not reach a client, such as the stack of a guest; nil discards it.
	Logger *slog.Logger
}

// defaultPageSize is large since a client that does not follow nextCursor sees nothing beyond it.
// Package listing has the bound in bytes.
const defaultPageSize = 1000

// Server answers MCP requests from a catalogue. It is safe for concurrent use.
type Server struct {
	catalog Catalog
	opts    Options
	log     *slog.Logger

	form     era.Form
	greeting greeting.Server

	callPrefix string // makes call ids of this process differ from those of another
	calls      atomic.Uint64

	views listing.Views

	keys     *sealed.Keys
	waiting  *resume.Keeper
	parking  *parked.Lot
	sessions *session.Book
	now      func() time.Time

	tasks     *runner.Runner
	stopWatch func()

	mu     sync.Mutex
	closed bool
	conns  map[*Conn]struct{}
}

// NewServer returns a server of c. A nil o is the zero Options.
func NewServer(c Catalog, o *Options) *Server {
	s := &Server{catalog: c, conns: map[*Conn]struct{}{}, now: time.Now, sessions: session.NewBook(time.Now)}
	if o != nil {
		s.opts = *o
	}
	s.defaults()
	s.log = s.opts.Logger
	s.form = era.NewForm(greeting.Info(s.opts.Name, s.opts.Version))
	s.greeting = greeting.Server{Form: s.form, Instructions: s.opts.Instructions, TTL: s.opts.ListTTL}
	s.callPrefix = callPrefix()
	s.parking = parked.NewLot(s.opts.AskTime)
	s.waiting = resume.NewKeeper(s.keys, s.opts.Store, s.now)
	s.views.Options = listing.Options{
		Search: s.opts.Search, PageSize: s.opts.PageSize, TTL: s.opts.ListTTL, Meta: s.form.Meta, Discover: s.greeting.Discover, Logger: s.log,
	}
	s.tasks = s.newTasks()
	if s.opts.Keys != nil {
		s.tasks.Start()
	}
	s.stopWatch = c.Watch(s.changed)
	return s
}

func (s *Server) defaults() {
	if s.opts.Name == "" {
		s.opts.Name = "sallyport"
	}
	if s.opts.Version == "" {
		s.opts.Version = "0.0.0"
	}
	if s.opts.PageSize <= 0 {
		s.opts.PageSize = defaultPageSize
	}
	s.opts.ListTTL = max(0, s.opts.ListTTL)
	if s.opts.AskTime <= 0 {
		s.opts.AskTime = defaultAskTime
	}
	if s.keys = s.opts.Keys; s.keys == nil {
		s.keys = sealed.Random()
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
}

// callPrefix is random so that call ids in the logs of several processes do not meet. They are
// names, not secrets.
func callPrefix() string {
	var b [4]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:]) + "-"
}

// nextCall returns a new call id.
func (s *Server) nextCall() string {
	var b [32]byte
	id := append(b[:0], s.callPrefix...)
	return string(strconv.AppendUint(id, s.calls.Add(1), 10))
}

// Connect begins a conversation with one client, or with one request of one client: what a Conn
// remembers is the legacy session, if there is one, and the requests in flight. It is cheap. The
// caller closes it.
func (s *Server) Connect(o ConnOptions) *Conn {
	c := &Conn{server: s, opts: o, readied: make(chan struct{})}
	c.desk.Notify = o.Notify
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed = s.closed; !s.closed {
		s.conns[c] = struct{}{}
	}
	return c
}

// forget takes a closed conn out of the books.
func (s *Server) forget(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// open returns the conns that are not closed.
func (s *Server) open() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		list = append(list, c)
	}
	return list
}

// Calls is how many requests run that end by themselves: all but subscriptions.
func (s *Server) Calls() (n int) {
	for _, c := range s.open() {
		n += c.calls()
	}
	return n
}

// changed tells every client that wants to hear it what is new.
func (s *Server) changed(ch catalogue.Change) {
	s.tasks.News()
	owner := s.catalog.Snapshot().Owner
	for _, c := range s.open() {
		c.announce(ch, owner)
	}
}

// Close ends the server: requests are refused from now on, subscriptions end, and Close waits for the
// requests in flight.
// When ctx is done it cancels them, still waits, and returns the context's error.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stopWatch()
	s.tasks.Close()
	s.parking.Close()
	conns := s.open()
	stop := context.AfterFunc(ctx, func() {
		for _, c := range conns {
			c.cancelAll()
		}
	})
	for _, c := range conns {
		c.EndSubscriptions()
		c.drain()
	}
	if stop() {
		return nil
	}
	return context.Cause(ctx)
}
