// Package task keeps calls that go on after their answer: what each is about, how it stands, and what
// came of it. It runs nothing.
//
//	working ──▶ completed | failed | cancelled
//	   ▲ │
//	   │ └──▶ input_required        waits for answers, as long as it is kept, with nothing running
//	   └───────────┘
//
// A task whose plugin keeps state cannot be run again: it waits in its instance, in its process, and fails when
// that has gone.
//
// A Book holds the tasks of one process, and keeps them in a Store if it has one: then a task is there for
// every process that shares the store, and after a restart. A task that runs names its process; when that has
// gone another one adopts the task, and runs it again with what was kept of its journal, in Parts.
package task

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Status is how a task stands.
type Status string

// The statuses of MCP.
const (
	Working   Status = "working"
	Input     Status = "input_required"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Over reports whether the task will not change any more.
func (s Status) Over() bool { return s == Completed || s == Failed || s == Cancelled }

// Task is one call that goes on after its answer. A value of it is a copy: changing it changes nothing.
type Task struct {
	ID        string        `json:"id"`
	Principal string        `json:"who"`
	Proof     string        `json:"proof,omitempty"` // tells it from a principal of the same name elsewhere
	Owner     string        `json:"owner"`           // the process that runs it, if it runs
	Status    Status        `json:"status"`
	Message   string        `json:"message,omitempty"`
	Created   time.Time     `json:"created"`
	Updated   time.Time     `json:"updated"`
	TTL       time.Duration `json:"ttl"` // from Created

	// Params are those of the call, as its client sent them, without answers.
	Params json.RawMessage `json:"params"`
	// State is where the call stopped to ask; "" at its beginning.
	State string `json:"state,omitempty"`
	// Round counts the runs that began with answers, and Tries the processes that ran the present one.
	Round int `json:"round,omitempty"`
	Tries int `json:"tries,omitempty"`
	// Requests are the questions without an answer, by key, and Answers those that came.
	Requests map[string]json.RawMessage `json:"requests,omitempty"`
	Answers  map[string]json.RawMessage `json:"answers,omitempty"`

	Result json.RawMessage `json:"result,omitempty"` // of a completed one
	Error  json.RawMessage `json:"error,omitempty"`  // of a failed one

	// Kept is a task whose plugin keeps state: it cannot be run again, so it ends with the process that runs it,
	// and waits for answers in its instance.
	Kept bool `json:"kept,omitempty"`
	// Session names the instance of a kept task, in its process.
	Session string `json:"-"`
	// Mark says, sealed, which servers may run the task.
	Mark string `json:"mark,omitempty"`
	// Asked are the keys of all questions so far: none is used again.
	Asked []string `json:"asked,omitempty"`

	version int64 // of its record
}

// lives reports whether a process has the task running, or waiting in its instance.
func (t *Task) lives() bool { return t.Status == Working || t.Kept && t.Status == Input }

// Ask has the task wait for answers.
func (t *Task) Ask(requests map[string]json.RawMessage) {
	t.Status, t.Requests, t.Answers = Input, requests, nil
	t.Asked = append(slices.Clip(t.Asked), slices.Sorted(maps.Keys(requests))...)
}

// Expires is when the task is not kept any more.
func (t *Task) Expires() time.Time { return t.Created.Add(t.TTL) }

// Answer takes in answers, of which those to no open question are ignored, and reports whether all
// questions are answered now.
func (t *Task) Answer(given map[string]json.RawMessage) bool {
	requests, answers := maps.Clone(t.Requests), maps.Clone(t.Answers)
	if answers == nil {
		answers = map[string]json.RawMessage{}
	}
	for key, answer := range given {
		if _, open := requests[key]; open {
			delete(requests, key)
			answers[key] = answer
		}
	}
	t.Requests, t.Answers = requests, answers
	return len(requests) == 0
}

// Next are the params with which the call goes on: those it began with, where it stopped, and the answers.
func (t *Task) Next() json.RawMessage {
	o, err := jsonraw.ParseObject(t.Params)
	if err != nil {
		return t.Params
	}
	var answers jsonraw.Object
	for _, key := range slices.Sorted(maps.Keys(t.Answers)) {
		answers = append(answers, jsonraw.Member{Key: key, Value: t.Answers[key]})
	}
	o.Set("inputResponses", answers.Append(nil))
	o.Set("requestState", jsonraw.AppendString(nil, t.State))
	return o.Append(nil)
}
