package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

const (
	// eventAge is the time for which an event of a session is kept in the store, longer than a client takes to connect again.
	eventAge = 10 * time.Minute
	// streamAge is that time for the head of a stream, longer than a call.
	streamAge = 24 * time.Hour
	// lastEvent is the label of the last event of a stream.
	lastEvent = "last"
	// savePause is the pause before events are stored that could not be.
	savePause = time.Second
)

// saver copies the events of one session in this process to the store, or its mail, in batches, so that other processes can resume its
// streams. It is safe for concurrent use.
//
//	SESSION/STREAM/0    head of a stream: the ID of its request
//	SESSION/STREAM/n    its event n
//
// Numbers are of 16 hexadecimal digits. A stream begins with the name of its process.
type saver struct {
	pool    *pool
	session *session
	kind    store.Kind

	mu      sync.Mutex
	add     []store.Record
	remove  []string
	working bool
	settled chan struct{} // closed when add and remove are stored, or could not be; nil if none waits for a batch
	under   chan struct{} // the same of the batch that is being stored
}

// eventKey is the ID of an event in the store, or of the head of its stream for 0.
func eventKey(session, stream string, number uint64) string {
	return fmt.Sprintf("%s/%s/%016x", session, stream, number)
}

// head stores the head of a stream, with the ID of its request. A nil saver stores nothing.
func (v *saver) head(stream string, request []byte) {
	if v != nil {
		v.put(store.Record{ID: eventKey(v.session.id, stream, 0), Data: slices.Clone(request), Expires: time.Now().Add(streamAge)})
	}
}

// event stores an event. After the last one of a stream its head is not needed.
func (v *saver) event(e *event) {
	if v == nil || !e.stream.saved {
		return
	}
	r := store.Record{ID: eventKey(v.session.id, e.stream.name(), e.number), Data: e.data, Expires: time.Now().Add(eventAge)}
	if e.last {
		r.Label = lastEvent
	}
	v.put(r)
	if e.last {
		v.drop(e.stream, 0)
	}
}

func (v *saver) put(r store.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add = append(v.add, r)
	if v.kind == store.Mail { // events are bounded by their outbox
		v.trim()
	}
	v.start()
}

// trim drops the oldest records that wait until the rest is within the bounds of an outbox. The newest always stays. The
// caller holds mu.
func (v *saver) trim() {
	bytes, first := 0, len(v.add)
	for first > 0 && len(v.add)-first < outboxEvents {
		if bytes += len(v.add[first-1].Data); bytes > outboxBytes && first < len(v.add) {
			break
		}
		first--
	}
	v.add = slices.Delete(v.add, 0, first)
}

// drop removes an event of a stream from the store, or its head for 0.
func (v *saver) drop(s *eventStream, number uint64) {
	if v == nil || !s.saved {
		return
	}
	id := eventKey(v.session.id, s.name(), number)
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := slices.IndexFunc(v.add, func(r store.Record) bool { return r.ID == id }); i >= 0 {
		v.add = slices.Delete(v.add, i, i+1)
		return
	}
	v.remove = append(v.remove, id)
	v.start()
}

// start begins to work. The caller holds mu.
func (v *saver) start() {
	if v.settled == nil {
		v.settled = make(chan struct{})
	}
	if !v.working {
		v.working = true
		v.pool.saving.Go(v.run)
	}
}

// run stores batches until nothing is left.
func (v *saver) run() {
	for {
		add, remove := v.take()
		if len(add)+len(remove) == 0 {
			return
		}
		err := v.pool.store.Append(context.Background(), v.kind, v.session.principal, add, remove)
		switch {
		case passing(err) && v.pool.ctx.Err() == nil:
			v.restore(add, remove)
			select {
			case <-time.After(savePause):
			case <-v.pool.ctx.Done(): // one more attempt
			}
		case err != nil:
			v.pool.log.Warn("messages of a session are not stored, and no other host has them", "kind", v.kind, "messages", len(add), "error", err)
		}
	}
}

// passing reports whether the same batch may be stored later.
func passing(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrTooLarge)
}

// take returns the next batch. An empty one ends the work.
func (v *saver) take() (add []store.Record, remove []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.settle()
	add, remove = v.add, v.remove
	v.add, v.remove = nil, nil
	v.under, v.settled = v.settled, nil
	if len(add)+len(remove) == 0 {
		v.working = false
		v.settle()
	}
	return add, remove
}

// restore takes a batch back that could not be stored.
func (v *saver) restore(add []store.Record, remove []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	add = slices.DeleteFunc(add, func(r store.Record) bool { return slices.Contains(v.remove, r.ID) })
	v.add, v.remove = append(add, v.add...), append(remove, v.remove...)
	v.settle()
}

// settle ends the waits for the batch that was stored. The caller holds mu.
func (v *saver) settle() {
	if v.under != nil {
		close(v.under)
		v.under = nil
	}
}

// wait waits until the events before it are stored, or an attempt has failed. A nil saver has nothing to wait for.
func (v *saver) wait(ctx context.Context) {
	if v == nil {
		return
	}
	v.mu.Lock()
	settled := cmp.Or(v.settled, v.under)
	v.mu.Unlock()
	if settled == nil {
		return
	}
	select {
	case <-settled:
	case <-ctx.Done():
	}
}
