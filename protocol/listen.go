package protocol

import (
	"context"
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/notify"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// metaSubscription is the _meta key with the id of the subscriptions/listen request that a message belongs to.
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// listenMethod is a request that stays open until client or server ends it.
const listenMethod = "subscriptions/listen"

// listen serves subscriptions/listen. It acknowledges the accepted subscriptions, then sends notifications until
// the client cancels or the server ends it.
func listen(ctx context.Context, r *request) ([]byte, error) {
	loading, ready := context.WithTimeout(ctx, loadingWait) // for all of them together
	defer ready()
	wants, honoured, err := notify.ReadTopics(jsonraw.Get(r.call.Params, "notifications"), func(uri string) bool { return r.hasResource(loading, uri) })
	if err != nil {
		return nil, err
	}
	tasks, err := wantedTasks(ctx, r, &honoured)
	if err != nil {
		return nil, err
	}
	l, err := r.conn.subscriptions.Open(wants)
	if err != nil {
		return nil, err
	}
	defer r.conn.subscriptions.Drop(l)
	stop, err := r.conn.watchTasks(ctx, l, tasks)
	if err != nil {
		return nil, err
	}
	defer stop()
	meta := jsonraw.Object{{Key: metaSubscription, Value: r.call.ID}}.Append(nil)
	r.stream.Tell(jsonrpc.Notification("notifications/subscriptions/acknowledged",
		jsonraw.Object{{Key: "_meta", Value: meta}, {Key: "notifications", Value: honoured.Append(nil)}}))
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-l.Ended:
			tearDown(r, meta)
			return r.frame(jsonraw.Object{{Key: "_meta", Value: meta}}, false), nil
		case <-l.Wake:
			r.stream.Tell(l.News(meta)...)
		}
	}
}

// tearDown tells the client that the server ends a subscription. On a persistent connection nothing else precedes
// the result; over HTTP the stream ends.
func tearDown(r *request, meta []byte) {
	if r.conn.opts.Notify != nil {
		r.stream.Tell(jsonrpc.Notification("notifications/cancelled", jsonraw.Object{
			{Key: "_meta", Value: meta}, {Key: "requestId", Value: r.call.ID}, {Key: "reason", Value: json.RawMessage(`"the server ends the subscription"`)}}))
	}
}

// hasResource reports whether a resource with that URI exists. It waits for plugins that are loading, as a read does.
func (r *request) hasResource(ctx context.Context, uri string) bool {
	_, _, ok := find(ctx, r, func(s *catalog.Snapshot) (catalog.Reader, bool) { return s.Resource(uri) })
	return ok
}

// EndSubscriptions ends every subscriptions/listen of the client with its result and refuses new ones. Transports
// call it at the end of the client's input, so that shutdown does not wait for subscriptions.
func (c *Conn) EndSubscriptions() { c.subscriptions.End() }

// EndSubscriptions ends every subscriptions/listen of all connected clients.
func (s *Server) EndSubscriptions() {
	for _, c := range s.conns.list() {
		c.EndSubscriptions()
	}
}

// announce sends the client's notifications for a change.
func (c *Conn) announce(ch catalog.Change, seen *catalog.Snapshot) {
	s := c.legacy.state.Load()
	news := c.subscriptions.Tell(ch, seen.Owner, s.Resources)
	announce := c.opts.Announce
	if announce == nil {
		announce = c.opts.Notify
	}
	if s.Ready && announce != nil {
		for _, m := range news.Messages(nil) {
			announce(m)
		}
	}
}

// AnnounceAll announces changes of all lists and of the subscribed resources, to the client of a session that another
// process served before: it may have another catalog, and have missed a change.
func (c *Conn) AnnounceAll() {
	ch := catalog.Change{Tools: true, Prompts: true, Resources: true, Updated: c.legacy.state.Load().Resources}
	c.announce(ch, c.server.views.For(c.server.catalog, c.caller).Snapshot)
}
