package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

const (
	// mailAge is the time for which mail waits for its host, as long as a question waits for its answer by default.
	mailAge = 10 * time.Minute
	// toClient is the label of mail for the client, which the host with its standing stream sends.
	toClient = "client"
)

// Mail is a message of a session in the store. Each host that serves the session sees it; the one that awaits it removes it.
//
//	client ─▶ host ─▶ mail ─▶ host of the call      answers to questions, cancellations
//	host of the call ─▶ mail ─▶ host with the standing stream ─▶ client

// letter returns mail for a session.
func (s *session) letter(label string, data []byte) store.Record {
	return store.Record{ID: fmt.Sprintf("%s/%016x-%s", s.id, time.Now().UnixNano(), rand.Text()), Label: label, Data: slices.Clone(data), Expires: time.Now().Add(mailAge)}
}

// passOn stores messages of the client that another host may await.
func (x *exchange) passOn(s *session, r *protocol.Response) *refusal {
	if len(r.Unclaimed) == 0 || !s.pooled {
		return nil
	}
	var all []store.Record
	for _, raw := range r.Unclaimed {
		all = append(all, s.letter("", raw))
	}
	switch err := x.h.pool.store.Append(x.r.Context(), store.Mail, s.principal, all, nil); {
	case errors.Is(err, store.ErrTooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "the message is too large for the host that awaits it")
	case errors.Is(err, store.ErrFull):
		return refuse(http.StatusServiceUnavailable, "too many messages of this caller wait for other hosts").with("Retry-After", "1")
	case err != nil:
		return x.h.pool.away(err)
	}
	return nil
}

// notify sends a message that belongs to no request: on the stream of this host, or by mail if that has no reader.
func (s *session) notify(msg []byte) {
	if !s.standing.offer(msg) {
		s.mail.put(s.letter(toClient, msg))
	}
}

// deliver hands the mail of a session to its calls and to its standing stream in this process.
func (h *Handler) deliver(ctx context.Context, s *session) {
	list, err := h.pool.store.NamesBelow(ctx, store.Mail, s.id)
	if err != nil {
		return // the next look
	}
	seen := map[string]bool{}
	for i := range list {
		r := &list[i]
		if s.delivered[r.ID] {
			seen[r.ID] = true
			continue
		}
		if is, err := h.hand(ctx, s, r); err == nil && !is {
			seen[r.ID] = r.Label != toClient // whose stream may come
		}
	}
	s.delivered = seen
}

// hand delivers one letter, which it reads, and reports whether it was for this process. After an error it is to be tried
// again.
func (h *Handler) hand(ctx context.Context, s *session, r *store.Record) (is bool, err error) {
	if r.Label == toClient {
		if !s.standing.attached() {
			return false, nil
		}
		data, is := h.pool.claim(ctx, r)
		if is && !s.standing.offer(data) { // the client has left meanwhile
			s.mail.put(s.letter(toClient, data))
		}
		return is, nil
	}
	kept, err := h.pool.store.Get(ctx, store.Mail, r.ID)
	if err != nil {
		return false, err
	}
	m, err := jsonrpc.Parse(kept.Data)
	if err != nil || m.IsRequest() || s.conn.Handle(ctx, &m, func([]byte) {}).Unclaimed != nil {
		return false, nil
	}
	// A letter that stays is ignored when it comes again.
	return h.pool.store.Remove(ctx, store.Mail, r.ID) == nil, nil
}

// claim takes a letter, which only one host does, and returns its message.
func (p *pool) claim(ctx context.Context, r *store.Record) (msg []byte, is bool) {
	at := []store.Record{{ID: r.ID, Expires: time.UnixMilli(0)}} // past by the clock of each host
	err := p.store.Change(ctx, store.Mail, r.Principal, at, func(data [][]byte) ([][]byte, error) {
		if data[0] == nil {
			return nil, errOver
		}
		msg = data[0]
		return data, nil
	})
	return msg, err == nil
}

// collect has the mail of a session delivered, after its client has opened the standing stream.
func (h *Handler) collect(s *session) {
	if s.pooled {
		h.pool.notices.note(store.Mail, s.id, h.sessions.has)
	}
}
