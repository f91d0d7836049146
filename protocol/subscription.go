package protocol

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// metaSubscription is the _meta key that says to which subscriptions/listen a message belongs.
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// maxListens is how many subscriptions/listen one Conn may have open: each holds a place that a call
// could have.
const maxListens = 32

// subscription is one subscriptions/listen while it is open. Whoever tells it of a change never waits: news
// are gathered, and the request itself sends them.
type subscription struct {
	wants topics
	wake  chan struct{} // one token: there is news
	ended chan struct{} // closed when the server ends the subscription

	mu    sync.Mutex
	news  topics
	tasks []task.Task // as they were when they changed
}

// tell gathers what concerns the subscription.
func (s *subscription) tell(c catalogue.Change, owner func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.add(s.wants.in(c, owner))
	s.ring()
}

// ring says that there is news. s.mu is held.
func (s *subscription) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscription) take() (topics, []task.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news, tasks := s.news, s.tasks
	s.news, s.tasks = topics{}, nil
	return news, tasks
}

// listen serves subscriptions/listen: first what will be told, then what happens, until the client
// cancels or the server ends it.
func listen(ctx context.Context, r *request) ([]byte, error) {
	asked, wants, err := r.wanted(ctx)
	if err != nil {
		return nil, err
	}
	l, err := r.conn.listen(wants)
	if err != nil {
		return nil, err
	}
	defer r.conn.unlisten(l)
	stop, err := r.watchTasks(ctx, l, wants.tasks)
	if err != nil {
		return nil, err
	}
	defer stop()
	meta := rawjson.Object{{Key: metaSubscription, Value: r.id}}.Append(nil)
	r.tell(jsonrpc.Notification("notifications/subscriptions/acknowledged",
		rawjson.Object{{Key: "_meta", Value: meta}, {Key: "notifications", Value: asked}}))
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-l.ended:
			return r.frame(rawjson.Object{{Key: "_meta", Value: meta}}, false), nil
		case <-l.wake:
			news, tasks := l.take()
			r.tell(append(news.messages(meta), taskNews(tasks, meta)...)...)
		}
	}
}

// tell sends messages that belong to this request.
func (r *request) tell(messages ...[]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range messages {
		r.emit(m)
	}
}

// wanted reads params.notifications. honoured is the part of it that will be told: all lists, the resources that
// there are, and the caller's own tasks.
func (r *request) wanted(ctx context.Context) (honoured json.RawMessage, wants topics, err error) {
	asked := rawjson.Get(r.params, "notifications")
	if !rawjson.IsObject(asked) {
		return nil, wants, jsonrpc.InvalidParams("params.notifications must be an object")
	}
	var o rawjson.Object
	for _, list := range []struct {
		key  string
		want *bool
	}{
		{"toolsListChanged", &wants.tools}, {"promptsListChanged", &wants.prompts}, {"resourcesListChanged", &wants.resources},
	} {
		switch string(rawjson.Get(asked, list.key)) {
		case "", "null", "false":
		case "true":
			*list.want = true
			o.Set(list.key, json.RawMessage("true"))
		default:
			return nil, wants, jsonrpc.InvalidParams("params.notifications.%s must be a boolean", list.key)
		}
	}
	if uris := rawjson.Get(asked, "resourceSubscriptions"); !rawjson.IsNull(uris) {
		if err := r.wantResources(&wants, uris); err != nil {
			return nil, wants, err
		}
		o.Set("resourceSubscriptions", rawjson.Strings(slices.Sorted(maps.Keys(wants.uris))))
	}
	if ids := rawjson.Get(asked, "taskIds"); !rawjson.IsNull(ids) {
		if wants.tasks, err = r.wantTasks(ctx, ids); err != nil {
			return nil, wants, err
		}
		o.Set("taskIds", rawjson.Strings(wants.tasks))
	}
	return o.Append(nil), wants, nil
}

func (r *request) wantResources(wants *topics, list json.RawMessage) error {
	uris, err := rawjson.Elements(list)
	if err != nil || len(uris) > maxSubscriptions {
		return jsonrpc.InvalidParams("params.notifications.resourceSubscriptions must be an array of at most %d URIs", maxSubscriptions)
	}
	snapshot := r.server.catalog.Snapshot()
	for _, raw := range uris {
		uri, ok := rawjson.String(raw)
		if !ok {
			return jsonrpc.InvalidParams("params.notifications.resourceSubscriptions must hold strings")
		}
		if _, there := snapshot.Resource(uri); there {
			wants.subscribe(uri)
		}
	}
	return nil
}

// listen opens a subscription of a modern client.
func (c *Conn) listen(wants topics) (*subscription, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.deaf || c.closed:
		return nil, &runtime.EndError{Kind: runtime.KindUnavailable, Message: "the connection is closing"}
	case len(c.subscriptions) >= maxListens:
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "too many subscriptions are open"}
	}
	l := &subscription{wants: wants, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if c.subscriptions == nil {
		c.subscriptions = map[*subscription]struct{}{}
	}
	c.subscriptions[l] = struct{}{}
	return l, nil
}

func (c *Conn) unlisten(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscriptions, s)
}

// EndSubscriptions ends every subscriptions/listen of the client with its result, and lets none begin.
// A transport calls it when the client will say nothing more, so that they are not waited for.
func (c *Conn) EndSubscriptions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf {
		return
	}
	c.deaf = true
	for l := range c.subscriptions {
		close(l.ended)
	}
}

// EndSubscriptions ends every subscriptions/listen of the clients that are connected.
func (s *Server) EndSubscriptions() {
	for _, c := range s.open() {
		c.EndSubscriptions()
	}
}

// announce tells the client what it wants to hear of a change.
func (c *Conn) announce(ch catalogue.Change, owner func(uri string) string) {
	c.mu.Lock()
	for l := range c.subscriptions {
		l.tell(ch, owner)
	}
	session := topics{tools: true, prompts: true, resources: true, uris: c.subscribed}
	news := session.in(ch, owner)
	c.mu.Unlock()
	if c.ready.Load() && c.announcesChanges() {
		for _, m := range news.messages(nil) {
			c.opts.Notify(m)
		}
	}
}

// forgetSubscriptions is for a client that begins a session anew.
func (c *Conn) forgetSubscriptions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribed = nil
}

// subscribe serves resources/subscribe of a legacy session.
func subscribe(_ context.Context, r *request) ([]byte, error) {
	uri, err := r.member("uri")
	if err != nil {
		return nil, err
	}
	if _, ok := r.server.catalog.Snapshot().Resource(uri); !ok {
		return nil, r.resourceNotFound("unknown resource")
	}
	c := r.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subscribed) >= maxSubscriptions && !c.subscribed[uri] {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: "too many resources are subscribed to"}
	}
	if c.subscribed == nil {
		c.subscribed = map[string]bool{}
	}
	c.subscribed[uri] = true
	return jsonrpc.AppendResult(nil, r.id, nil), nil
}

// unsubscribe serves resources/unsubscribe of a legacy session. One that was never there is no error.
func unsubscribe(_ context.Context, r *request) ([]byte, error) {
	uri, err := r.member("uri")
	if err != nil {
		return nil, err
	}
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	delete(r.conn.subscribed, uri)
	return jsonrpc.AppendResult(nil, r.id, nil), nil
}
