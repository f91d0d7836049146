package protocol

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/meta"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// metaSession is the _meta key with which a client of the modern era says to which session a request belongs, since
// there its connection says nothing: newSession in a request, and the handle in its result and in those that follow.
const metaSession = "dev.sallyport/session"

// newSession asks for a handle.
const newSession = "new"

const (
	// maxHandles is how many sessions of one caller there are, as many as a plugin has instances for; the one
	// unused for longest gives way.
	maxHandles = 64
	// maxAllHandles is how many there are of all callers.
	maxAllHandles = 4 << 10
	// idleHandle is how long one is known that nobody uses: as long as a plugin keeps its instance.
	idleHandle = time.Hour
)

// sessions are those that modern clients began. What is kept for them is in this process's memory, and so
// are they: no other process takes one for its own.
type sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*begunSession
}

type begunSession struct {
	principal string
	used      time.Time
}

// mint begins a session; "" is that there are too many.
func (h *sessions) mint(principal string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, mine, oldest := h.now(), 0, ""
	for name, other := range h.all {
		if now.Sub(other.used) > idleHandle {
			delete(h.all, name)
			continue
		}
		if other.principal != principal {
			continue
		}
		if mine++; oldest == "" || other.used.Before(h.all[oldest].used) {
			oldest = name
		}
	}
	if mine >= maxHandles {
		delete(h.all, oldest)
	}
	if len(h.all) >= maxAllHandles {
		return ""
	}
	if h.all == nil {
		h.all = map[string]*begunSession{}
	}
	name := rand.Text()
	h.all[name] = &begunSession{principal: principal, used: now}
	return name
}

// use reports whether a session is there, and the caller's.
func (h *sessions) use(principal, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, now := h.all[name], h.now()
	if s == nil || s.principal != principal || now.Sub(s.used) > idleHandle {
		return false
	}
	s.used = now
	return true
}

// findSession finds out to which session the request belongs: that of its connection, or the one it names.
func (r *request) findSession() error {
	if r.minted != "" { // found before
		return nil
	}
	r.session = r.conn.opts.Session
	raw := rawjson.Get(r.params, "_meta", metaSession)
	if !r.modern || r.task != nil || rawjson.IsNull(raw) {
		return nil
	}
	name, ok := rawjson.String(raw)
	switch {
	case !ok || name == "":
		return jsonrpc.InvalidParams("%s is %q, or what an answer to that named", metaSession, newSession)
	case name != newSession:
		if !r.server.sessions.use(r.conn.opts.Principal, name) {
			return jsonrpc.InvalidParams("%s names a session that is over, or is kept by another process: send %q for another one", metaSession, newSession)
		}
		r.session = name
	case asks(r.method) && !rawjson.IsNull(rawjson.Get(r.params, "requestState")):
		r.session = newSession // that of the call, which has it already
	default:
		if r.minted = r.server.sessions.mint(r.conn.opts.Principal); r.minted == "" {
			return &runtime.EndError{Kind: runtime.KindLimit, Message: "there are too many sessions"}
		}
		r.session = r.minted
	}
	return nil
}

// tellSession names the session that this request began.
func (r *request) tellSession(o *rawjson.Object) {
	if r.minted != "" {
		meta.Set(o, metaSession, rawjson.AppendString(nil, r.minted))
	}
}
