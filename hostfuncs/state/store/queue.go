package store

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// queues have the transactions of one process that exclude each other wait here, and not on a connection each: those of
// one caller would take all connections while they wait, and lock all others out. It is safe for concurrent use.
type queues struct {
	mu sync.Mutex
	of map[string]*queue // by scope
}

type queue struct {
	turn chan struct{} // capacity 1: full during a transaction
	size int           // transactions that wait or run; guarded by queues.mu
}

// enter waits for the turn of a transaction, in an order of the scopes that is the same for all. leave ends it.
func (q *queues) enter(ctx context.Context, scopes []scope) (leave func(), err error) {
	var names []string
	for _, s := range scopes {
		if !s.shared {
			names = append(names, s.name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	names = slices.Compact(names)
	entered := 0
	leave = func() {
		for _, name := range names[:entered] {
			q.leave(name, true)
		}
	}
	for _, name := range names {
		select {
		case q.join(name) <- struct{}{}:
			entered++
		case <-ctx.Done():
			q.leave(name, false)
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

func (q *queues) join(name string) chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of == nil {
		q.of = map[string]*queue{}
	}
	if q.of[name] == nil {
		q.of[name] = &queue{turn: make(chan struct{}, 1)}
	}
	q.of[name].size++
	return q.of[name].turn
}

func (q *queues) leave(name string, entered bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.of[name]
	if entered {
		<-one.turn
	}
	if one.size--; one.size == 0 {
		delete(q.of, name)
	}
}
