package notify

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// maxTaskNews is the maximum number of queued task changes per subscription. Beyond it, older changes of the same
// task are dropped, so that a slow client gets the latest state of each task.
const maxTaskNews = MaxTopics

// Subscription is one open subscriptions/listen. It is safe for concurrent use.
type Subscription struct {
	// Wake receives a token when notifications are available.
	Wake <-chan struct{}
	// Ended is closed when the server ends the subscription.
	Ended <-chan struct{}

	wants Topics
	wake  chan struct{}
	ended chan struct{}

	mu    sync.Mutex
	news  Topics
	tasks []task.Task // snapshots at the time of the change
}

func newSubscription(wants Topics) *Subscription {
	s := &Subscription{wants: wants, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	s.Wake, s.Ended = s.wake, s.ended
	return s
}

// tell collects the part of a change that the subscription covers.
func (s *Subscription) tell(c catalog.Change, owner func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.add(s.wants.in(c, owner))
	s.ring()
}

// TellTask collects a change of a task.
func (s *Subscription) TellTask(t task.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tasks) >= maxTaskNews {
		if i := slices.IndexFunc(s.tasks, func(old task.Task) bool { return old.ID == t.ID }); i >= 0 {
			s.tasks = slices.Delete(s.tasks, i, i+1)
		}
	}
	s.tasks = append(s.tasks, t)
	s.ring()
}

// ring signals Wake. s.mu must be held.
func (s *Subscription) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// News returns and clears the collected notifications, each with this _meta.
func (s *Subscription) News(meta json.RawMessage) [][]byte {
	s.mu.Lock()
	news, tasks := s.news, s.tasks
	s.news, s.tasks = Topics{}, nil
	s.mu.Unlock()
	all := news.Messages(meta)
	for i := range tasks {
		all = append(all, jsonrpc.Notification("notifications/tasks", append(tasks[i].Detail(), jsonraw.Member{Key: "_meta", Value: meta})))
	}
	return all
}
