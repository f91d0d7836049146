package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

const (
	// nameSize is the length of the name of a process.
	nameSize = 16
	// pullBatch bounds the events that are read from the store at once.
	pullBatch = 64
	// lookForOwner is the interval at which the process that has a stream is looked for.
	lookForOwner = time.Second
)

// streamNames are the names of streams in the store: process, session in this process, stream.
var streamNames = regexp.MustCompile(`^[A-Z2-7]{16}\.[0-9]{1,19}\.[0-9]{1,19}$`)

// elsewhere is a stream of another process, or of a session in this one that has ended. Its events come from the store.
type elsewhere struct {
	pool    *pool
	session *session
	name    string
	box     *outbox      // for this connection alone
	stream  *eventStream // of the box
}

// resumeElsewhere returns a reader of the events after one that another process sent. The caller calls stop.
func (x *exchange) resumeElsewhere(s *session, lastEventID string) (reader *eventReader, stop func(), f *refusal) {
	i := max(0, strings.LastIndexByte(lastEventID, '-'))
	name := lastEventID[:i]
	seen, err := strconv.ParseUint(strings.TrimPrefix(lastEventID[i:], "-"), 10, 63)
	if err != nil || !streamNames.MatchString(name) || strings.HasPrefix(name, s.box.name) { // the box has those of this process
		return nil, nil, notKept(lastEventID)
	}
	first, err := x.h.pool.store.After(x.r.Context(), store.Event, s.id+"/"+name, "", 1)
	if err != nil {
		return nil, nil, x.h.pool.away(err)
	}
	if len(first) == 0 {
		return nil, nil, notKept(lastEventID)
	}
	if strings.HasSuffix(name, ".0") {
		return x.moveHere(s, name, seen)
	}
	e := &elsewhere{pool: x.h.pool, session: s, name: name, box: newOutbox(name[:strings.LastIndexByte(name, '.')+1], nil)}
	number, _ := strconv.ParseUint(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
	e.stream = &eventStream{box: e.box, number: number, sent: seen, read: seen}
	e.box.streams[number] = e.stream
	ctx, cancel := context.WithCancel(s.ctx)
	left := context.AfterFunc(x.r.Context(), cancel)
	over := make(chan struct{})
	go func() {
		defer close(over)
		e.pull(ctx, seen)
	}()
	return e.stream.open(), func() {
		left()
		cancel()
		<-over
	}, nil
}

// moveHere resumes the stream of messages that belong to no request: the rest of those that another process sent is sent by
// this one.
func (x *exchange) moveHere(s *session, name string, seen uint64) (reader *eventReader, stop func(), f *refusal) {
	for after := eventKey(s.id, name, seen); ; {
		list, err := x.h.pool.store.After(x.r.Context(), store.Event, s.id+"/"+name, after, pullBatch)
		if err != nil {
			return nil, nil, x.h.pool.away(err)
		}
		for _, r := range list {
			s.standing.send(r.Data)
			after, seen = r.ID, eventNumber(&r)
		}
		if len(list) < pullBatch {
			x.h.pool.stand(x.r.Context(), s, name, seen)
			s.conn.AnnounceAll()
			return s.standing.open(), func() {}, nil
		}
	}
}

// pull adds the events of the stream to the box, until the last one or the end of ctx. The end of a stream whose process has
// ended is an error.
func (e *elsewhere) pull(ctx context.Context, seen uint64) {
	defer e.box.close()
	news, stop := e.pool.notices.reader(e.session.id)
	defer stop()
	look := time.NewTicker(lookForOwner)
	defer look.Stop()
	for after := eventKey(e.session.id, e.name, seen); ; {
		gone := e.pool.store.Gone(e.name[:nameSize]) // first: it may have ended with its last event
		list, err := e.pool.store.After(ctx, store.Event, e.session.id+"/"+e.name, after, pullBatch)
		for _, r := range list {
			after = r.ID
			if e.put(&r); r.Label == lastEvent {
				return
			}
		}
		switch {
		case err == nil && len(list) == pullBatch:
			continue
		case err == nil && gone && e.lost(ctx):
			return
		}
		select {
		case <-news:
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// put adds an event.
func (e *elsewhere) put(r *store.Record) {
	number := eventNumber(r)
	if number == 0 {
		return
	}
	e.stream.skip(number - 1)
	e.stream.add(r.Data, r.Label == lastEvent)
}

// eventNumber returns the number of an event in its stream, 0 for the head.
func eventNumber(r *store.Record) uint64 {
	number, _ := strconv.ParseUint(r.ID[strings.LastIndexByte(r.ID, '/')+1:], 16, 64)
	return number
}

// lost ends the stream of a call whose process has ended, here and in the store, and returns false to look again.
func (e *elsewhere) lost(ctx context.Context) bool {
	kept, err := e.pool.store.Below(ctx, store.Event, e.session.id+"/"+e.name)
	if err != nil {
		return false
	}
	if n := len(kept); n > 0 && kept[n-1].Label == lastEvent { // which the client has
		return true
	}
	var request []byte
	if len(kept) > 0 && strings.HasSuffix(kept[0].ID, "/"+strings.Repeat("0", 16)) {
		request = kept[0].Data
	}
	e.box.mu.Lock()
	number := e.stream.sent + 1
	e.box.mu.Unlock()
	end := store.Record{ID: eventKey(e.session.id, e.name, number), Label: lastEvent, Expires: time.Now().Add(eventAge), Data: jsonrpc.AppendError(nil, request, protocol.Lost())}
	if err := e.pool.store.Append(ctx, store.Event, e.session.principal, []store.Record{end}, nil); err != nil && !errors.Is(err, store.ErrFull) {
		return false
	}
	e.put(&end)
	return true
}

func notKept(lastEventID string) *refusal {
	return refuse(http.StatusBadRequest, "the events after %q are not kept (any more)", clip(lastEventID))
}

// boxName begins the names of the streams of one session in this process, which are never used again.
func (p *pool) boxName() string { return fmt.Sprintf("%s.%d.", p.self, p.boxes.Add(1)) }
