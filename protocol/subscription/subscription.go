package subscription

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/task"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
)

// maxTaskNews is how many changes of tasks wait for one subscription until an older change of the same task is left
// out: a client that reads so slowly hears how each task stands, and not of every step.
const maxTaskNews = MaxTopics

// Subscription is one subscriptions/listen while it is open. It is safe for concurrent use.
type Subscription struct {
	// Wake has a token while there is news.
	Wake <-chan struct{}
	// Ended is closed when the server ends the subscription.
	Ended <-chan struct{}

	wants Topics
	wake  chan struct{}
	ended chan struct{}

	mu    sync.Mutex
	news  Topics
	tasks []task.Task // as they were when they changed
}

func newSubscription(wants Topics) *Subscription {
	s := &Subscription{wants: wants, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	s.Wake, s.Ended = s.wake, s.ended
	return s
}

// tell gathers what concerns the subscription.
func (s *Subscription) tell(c catalog.Change, owner func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.add(s.wants.in(c, owner))
	s.ring()
}

// TellTask gathers a change of a task.
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

// ring says that there is news. s.mu is held.
func (s *Subscription) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// News takes the notifications that were gathered, each with that _meta.
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
