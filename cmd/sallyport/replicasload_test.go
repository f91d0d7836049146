//go:build replicas

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome of one effect, as its client was told.
type told string

const (
	isDone    told = "done"
	isRefused told = "refused" // nothing was done
	isUnknown told = "unknown" // it may have been done, once
)

// load is a run of clients of all kinds, and its record.
type load struct {
	c   *cluster
	ctx context.Context // of the whole run, with the time in which the last calls have to be answered

	strict bool // each answer has to be a success

	mu      sync.Mutex
	next    int
	effects map[string]told           // by path
	counted map[told]int              // increments
	kept    map[string]int            // acknowledged keys, with their values
	tally   map[string]map[string]int // operations of a kind by outcome, and answers that were no success
	slowest map[string]time.Duration  // of a kind
	faults  []string
}

func newLoad(ctx context.Context, c *cluster) *load {
	return &load{c: c, ctx: ctx, effects: map[string]told{}, counted: map[told]int{}, kept: map[string]int{}, tally: map[string]map[string]int{}, slowest: map[string]time.Duration{}}
}

func (l *load) note(kind, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tally[kind] == nil {
		l.tally[kind] = map[string]int{}
	}
	l.tally[kind][what]++
}

func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (l *load) tell(path string, what told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects[path] = what
}

// kinds are the operations of the load.
func (l *load) kinds() map[string]func(n int) told {
	return map[string]func(n int) told{
		"stateless": l.stateless, "plain effect": l.plain, "keyed effect": l.keyedEffect, "question": l.question,
		"task": l.polledTask, "task heard": l.heardTask, "kv": l.keepKey, "increment": l.increment, "session": l.session,
	}
}

// run runs operations of these kinds, or of all, until stop is closed, and returns when all were answered.
func (l *load) run(workers int, stop <-chan struct{}, kinds ...string) {
	var all sync.WaitGroup
	for kind, do := range l.kinds() {
		if len(kinds) > 0 && !slices.Contains(kinds, kind) {
			continue
		}
		for range workers {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(pace):
					}
					began, what := time.Now(), do(l.tries())
					if l.note(kind, string(what)); l.strict && what != isDone {
						l.fault("%s: %s", kind, what)
					}
					l.mu.Lock()
					l.slowest[kind] = max(l.slowest[kind], time.Since(began))
					l.mu.Unlock()
				}
			})
		}
	}
	all.Wait()
}

// tries returns the number of the next operation.
func (l *load) tries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.next
}

// patiently repeats a request until its answer is final. unsure is true if one of them may have begun something.
func (l *load) patiently(kind string, send func() reply) (r reply) {
	for {
		r = send()
		if !r.ok() {
			l.note(kind, "answer "+r.reason())
		}
		switch {
		case l.strict && !r.ok():
			l.fault("%s: %s", kind, r.reason())
			return r
		case l.ctx.Err() != nil:
			l.fault("%s: not answered in time: %s", kind, r.reason())
			return r
		case r.status == 0:
			l.fault("%s: %s", kind, r.message)
		case r.status < 500 && !r.again:
			return r
		}
		time.Sleep(pace)
	}
}

func (l *load) path(kind string, n, i int) string {
	place := "once"
	if n%2 == 1 {
		place = "again"
	}
	return fmt.Sprintf("/%s/%s/%d/%d", place, kind, n, i)
}

func (l *load) fetch(path string) step {
	return step{"do": "fetch", "params": map[string]any{"method": "POST", "url": l.c.ledger.url + path}}
}

// end records the effects of an operation by its last answer, and returns the outcome of the last one.
func (l *load) end(r *reply, paths ...string) (last told) {
	for _, path := range paths {
		last = isUnknown
		switch {
		case strings.Contains(r.text(), "did "+path):
			last = isDone
		case r.ok(): // the plugin was told of a refusal
			last = isRefused
			l.note("refusals told to plugins", r.text()[:min(len(r.text()), 160)])
		}
		l.tell(path, last)
	}
	return last
}

func (l *load) stateless(int) told {
	r := l.patiently("stateless", func() reply {
		return l.c.post(l.ctx, "", "tools/call", keyed("effects-look", "", step{"do": "count"}), nil)
	})
	if !r.ok() || r.text() != "count: 1" {
		l.fault("stateless: %s", r.text())
		return isUnknown
	}
	return isDone
}

// plain is a call without a key, which its client cannot repeat.
func (l *load) plain(n int) told {
	path := l.path("plain", n, 0)
	r := l.c.post(l.ctx, "", "tools/call", keyed("effects-run", "", l.fetch(path)), nil)
	if r.status == http.StatusServiceUnavailable && r.later {
		l.note("plain effect", "answer "+r.reason())
		l.tell(path, isRefused)
		return isRefused
	}
	if !r.ok() {
		l.note("plain effect", "answer "+r.reason())
	}
	if r.status == 0 {
		l.fault("plain effect: %s", r.message)
	}
	return l.end(&r, path)
}

func (l *load) keyedEffect(n int) told {
	path := l.path("keyed", n, 0)
	r := l.patiently("keyed effect", func() reply { return l.c.post(l.ctx, "", "tools/call", keyed("effects-run", path, l.fetch(path)), nil) })
	return l.end(&r, path)
}

// question asks its client between two effects, and may be answered by any host.
func (l *load) question(n int) told {
	before, after := l.path("question", n, 0), l.path("question", n, 1)
	params := keyed("effects-run", before, l.fetch(before), question, l.fetch(after))
	r := l.patiently("question", func() reply { return l.c.post(l.ctx, "", "tools/call", params, nil) })
	if r.result.ResultType == "input_required" {
		params["requestState"], params["inputResponses"] = r.result.RequestState, answersTo(r.result)
		r = l.patiently("question", func() reply { return l.c.post(l.ctx, "", "tools/call", params, nil) })
	}
	return l.end(&r, before, after)
}

// openTask opens a task with two effects, and with a question between them if its number is a multiple of three.
func (l *load) openTask(kind string, n int) (id string, paths []string, r reply) {
	paths = []string{l.path("task", n, 0), l.path("task", n, 1)}
	steps := []step{l.fetch(paths[0]), {"do": "sleep", "times": 200 * (n % 7)}, l.fetch(paths[1])}
	if n%3 == 0 {
		steps = slices.Insert(steps, 1, question)
	}
	params := keyed("effects-job", paths[0], steps...)
	r = l.patiently(kind, func() reply { return l.c.post(l.ctx, "", "tools/call", params, nil) })
	return r.result.TaskID, paths, r
}

func (l *load) answerTask(kind string, v taskView) {
	l.patiently(kind, func() reply {
		return l.c.post(l.ctx, "", "tasks/update", map[string]any{"taskId": v.TaskID, "inputResponses": answersTo(v)}, nil)
	})
}

// over records the effects of a finished task.
func (l *load) over(kind string, v taskView, paths []string) told {
	r := reply{status: http.StatusOK, result: v}
	r.result.Content, r.result.IsError = v.Result.Content, v.Result.IsError
	if v.Status != "completed" {
		r.code, r.message = 1, v.Error.Message
		l.note(kind, "failed "+v.Error.Message[max(0, len(v.Error.Message)-80):])
	}
	return l.end(&r, paths...)
}

func (l *load) polledTask(n int) told {
	id, paths, r := l.openTask("task", n)
	if id == "" {
		return l.end(&r, paths...)
	}
	for {
		r := l.patiently("task", func() reply { return l.c.post(l.ctx, "", "tasks/get", map[string]any{"taskId": id}, nil) })
		v := r.result
		switch v.Status {
		case "completed", "failed":
			return l.over("task", v, paths)
		case "input_required":
			l.answerTask("task", v)
		case "":
			l.fault("task %s: %s", id, r.text())
			return isUnknown
		}
		if l.ctx.Err() != nil {
			return isUnknown
		}
		time.Sleep(2 * pace)
	}
}

// heardTask is followed by notifications alone. A client whose stream breaks listens again.
func (l *load) heardTask(n int) told {
	id, paths, r := l.openTask("task heard", n)
	if id == "" {
		return l.end(&r, paths...)
	}
	for l.ctx.Err() == nil {
		v, err := l.listen(id)
		if err != nil {
			l.note("task heard", "listens again")
			time.Sleep(pace)
			continue
		}
		if v.Status == "input_required" {
			l.answerTask("task heard", v)
			continue
		}
		return l.over("task heard", v, paths)
	}
	l.fault("task %s is never heard of", id)
	return isUnknown
}

// listen returns the task when it asks or has ended.
func (l *load) listen(id string) (v taskView, err error) {
	answer, err := l.c.open(l.ctx, "", "subscriptions/listen", map[string]any{"id": 1, "method": "subscriptions/listen",
		"params": map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}})
	if err != nil {
		return v, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return v, fmt.Errorf("status %d", answer.StatusCode)
	}
	ended := false
	_, err = eachMessage(answer, func(m rpc) bool {
		if m.Method == "" {
			ended = true
			return false
		}
		if m.Method != "notifications/tasks" {
			return true
		}
		v = taskView{}
		if err := json.Unmarshal(m.Params, &v); err != nil {
			l.fault("%s: %v", m.Params, err)
		}
		return v.Status == "working"
	})
	if err == nil && ended {
		err = fmt.Errorf("the host ends its listens")
	}
	return v, err
}

// keepKey keeps a key, which has to be there at the end.
func (l *load) keepKey(n int) told {
	key := fmt.Sprint("k", n)
	set := step{"do": "ask", "text": "kv/set", "params": map[string]any{"key": key, "value": n}}
	r := l.patiently("kv", func() reply { return l.c.post(l.ctx, "", "tools/call", keyed("effects-run", "", set), nil) })
	if !r.ok() || !strings.Contains(r.text(), `"version"`) {
		l.note("kv", "answer "+r.text())
		return isUnknown
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[key] = n
	return isDone
}

// increment adds one to a number that all clients change.
func (l *load) increment(n int) told {
	params := keyed("effects-run", fmt.Sprint("increment", n), step{"do": "increment", "text": "total"})
	r := l.patiently("increment", func() reply { return l.c.post(l.ctx, "", "tools/call", params, nil) })
	what := isUnknown
	if r.ok() && strings.Contains(r.text(), `"version"`) {
		what = isDone
	} else if r.ok() {
		what = isRefused
		l.note("increment", "answer "+r.text())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted[what]++
	return what
}
