package protocol

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/protocol/continuation"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
	"github.com/sallyport-mcp/sallyport/protocol/listing"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// Catalog is the source of a Server's entries, implemented by *registry.Registry.
type Catalog interface {
	// Snapshot returns the current state, which is immutable. It is called for each request from any goroutine, and
	// must be cheap.
	Snapshot() *catalog.Snapshot
	// Watch calls f after each change, one call at a time, until stop is called.
	Watch(f func(catalog.Change)) (stop func())
}

// Options configure a Server. The zero value of each field is usable.
type Options struct {
	Name    string // server name shown to clients; "" is sallyport
	Version string // "" is 0.0.0

	// Search lists two tools, one to search for tools and one to call them by name, in place of all.
	Search bool

	// PageSize is the maximum number of entries per list page; 0 is 1000. Many clients read only the first page.
	PageSize int
	// Keys seal continuations. Servers with equal keys continue each other's calls and tasks. Nil generates keys
	// for this server only, which then adopts no tasks.
	Keys *sealed.Keys
	// AskTime is the client's time limit for one round of questions; 0 is 10 minutes.
	AskTime time.Duration
	// Site identifies the origin of the catalog, such as its folder. Tasks left by a server of the same site fail
	// here, and only here, if their tool is gone.
	Site string
	// Tasks is the maximum number of concurrent tasks per caller; 0 is 256.
	Tasks int
	// Store holds tasks, answers too large to send, and answers of calls with an idempotency key. With nil, tasks
	// stay in memory and answers are not kept. The server does not close it.
	Store *store.Store
	// Met is called with a client's self-declared, unverified name, once per connection and name. It may be called
	// from any goroutine. Nil disables it.
	Met func(client string)
	// Observe is called for each request; nil is not called.
	Observe Observer
	// Logger receives details hidden from clients, such as guest stack traces; nil discards them.
	Logger *slog.Logger
}

// defaultPageSize is large because clients that ignore nextCursor see only the first page. Package listing limits
// pages in bytes.
const defaultPageSize = 1000

// Server answers MCP requests from a catalog. It is safe for concurrent use.
type Server struct {
	catalog Catalog
	opts    Options
	log     *slog.Logger

	greeting greeter
	calls    callIDs
	views    listing.Views

	keys     *sealed.Keys
	waiting  *continuation.Keeper
	parking  *continuation.ParkedCalls
	sessions *envelope.Sessions
	now      func() time.Time

	tasks     *task.Runner
	stopWatch func()
	conns     openConns
	desks     atomic.Uint64 // of sessions that several processes serve
}

// NewServer returns a server of c. A nil o is the zero Options.
func NewServer(c Catalog, o *Options) *Server {
	s := &Server{catalog: c, now: time.Now, sessions: envelope.NewSessions(time.Now)}
	if o != nil {
		s.opts = *o
	}
	s.defaults()
	s.log = s.opts.Logger
	s.greeting = greeter{Form: envelope.NewForm(serverInfo(s.opts.Name, s.opts.Version))}
	s.calls.prefix = newCallPrefix()
	s.parking = continuation.NewParkedCalls(s.opts.AskTime)
	s.waiting = continuation.NewKeeper(s.keys, s.opts.Store, s.now)
	s.views.Options = listing.Options{
		Search: s.opts.Search, PageSize: s.opts.PageSize, Meta: s.greeting.Form.Meta, Discover: s.greeting.Discover, Logger: s.log,
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

// callIDs generates call ids, which are not secret.
type callIDs struct {
	prefix string // random, to distinguish the processes in logs
	n      atomic.Uint64
}

func newCallPrefix() string {
	var b [4]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:]) + "-"
}

// next returns a new call id.
func (c *callIDs) next() string {
	var b [32]byte
	id := append(b[:0], c.prefix...)
	return string(strconv.AppendUint(id, c.n.Add(1), 10))
}

// Connect opens a Conn for one client or for one request. A Conn holds only the legacy session, if any, and the
// requests in flight. It is cheap, and the caller closes it.
func (s *Server) Connect(o ConnOptions) *Conn {
	c := &Conn{server: s, opts: o, caller: identity.Of(o.Principal, o.Roles)}
	c.legacy.state.Store(&SessionState{})
	c.legacy.readied, c.legacy.desk.Notify = make(chan struct{}), o.Notify
	if o.Process != "" { // a session that comes back to this process asks under IDs that it had not before
		c.legacy.desk.Prefix = o.Process + "-" + strconv.FormatUint(s.desks.Add(1), 10)
	}
	if !s.conns.add(c) {
		c.requests.close()
	}
	return c
}

// openConns holds the open connections of a server. It is safe for concurrent use.
type openConns struct {
	mu     sync.Mutex
	closed bool
	all    map[*Conn]struct{}
}

// add registers a connection, unless the server is closed.
func (o *openConns) add(c *Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.all == nil {
		o.all = map[*Conn]struct{}{}
	}
	o.all[c] = struct{}{}
	return true
}

func (o *openConns) remove(c *Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, c)
}

// list returns the open connections.
func (o *openConns) list() []*Conn {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.all))
}

// close refuses new connections.
func (o *openConns) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// Calls returns the number of requests in flight, without subscriptions.
func (s *Server) Calls() (n int) {
	for _, c := range s.conns.list() {
		n += c.requests.calls()
	}
	return n
}

// Stats are the numbers of a server at one moment.
type Stats struct {
	Requests    int // in flight, without subscriptions
	Connections int // open ones: sessions of older versions, and requests without a session
	Tasks       int // that run in this process
	TaskCounts  task.Counts
}

// Stats returns the current numbers.
func (s *Server) Stats() Stats {
	return Stats{Requests: s.Calls(), Connections: len(s.conns.list()), Tasks: s.tasks.Running(), TaskCounts: s.tasks.Counts()}
}

// changed notifies all subscribed clients of a catalog change.
func (s *Server) changed(ch catalog.Change) {
	s.tasks.News()
	for _, c := range s.conns.list() {
		c.announce(ch, s.views.For(s.catalog, c.caller).Snapshot)
	}
}

// Close shuts the server down: it refuses new requests, ends subscriptions and waits for the requests in flight.
// When ctx is done it cancels them, still waits, and returns ctx.Err.
func (s *Server) Close(ctx context.Context) error {
	s.conns.close()
	s.stopWatch()
	s.tasks.Close()
	s.parking.Close()
	conns := s.conns.list()
	stop := context.AfterFunc(ctx, func() {
		for _, c := range conns {
			c.requests.cancelAll()
		}
	})
	for _, c := range conns {
		c.EndSubscriptions()
		c.requests.drain()
	}
	if stop() {
		return nil
	}
	return context.Cause(ctx)
}
