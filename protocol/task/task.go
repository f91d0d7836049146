// Package task stores and runs calls that outlive their response.
//
//	working ──▶ completed | failed | cancelled
//	   ▲ │
//	   │ └──▶ input_required        waits for answers, as long as it is kept, with nothing running
//	   └───────────┘
//
// A task of a plugin with kept state cannot be replayed. It waits in its instance and fails if its process ends.
//
// A Book holds the tasks of one process, and stores them in a Store if it has one. Stored tasks are available to
// all processes sharing the store and survive a restart. A running task records its process. If that process is
// gone, another one adopts the task and replays its stored journal (Parts).
//
// A Runner runs them: those opened in this process, and adopted orphans of other processes.
//
//	Open ──▶ book ──▶ RunnerOptions.Run ──▶ outcome ──▶ book
//	                   │   ▲           └──▶ questions ──▶ book, suspended ──▶ Answer runs it again
//	                   └───┘ Ask: a kept task waits in its instance
package task

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Status is the status of a task.
type Status string

// The statuses of MCP.
const (
	Working   Status = "working"
	Input     Status = "input_required"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Over reports whether the status is final.
func (s Status) Over() bool { return s == Completed || s == Failed || s == Cancelled }

// Spec is the part of a task that its client and its server determine when they open it. It does not change.
type Spec struct {
	ID        string `json:"id"`
	Principal string `json:"who"`
	// Roles are the caller's at the time of the call.
	Roles identity.Roles `json:"roles,omitzero"`
	Proof string         `json:"proof,omitempty"` // distinguishes equal principals of different servers
	TTL   time.Duration  `json:"ttl"`             // lifetime of the task

	// Params are the params of the call as sent by the client, without answers.
	Params json.RawMessage `json:"params"`
	// Kept marks a task of a plugin with kept state. It cannot be replayed, waits for answers in its instance, and
	// ends with its process.
	Kept bool `json:"kept,omitempty"`
	// Session identifies the instance of a kept task in its process.
	Session string `json:"-"`
	// Mark identifies, sealed, the servers that may run the task.
	Mark string `json:"mark,omitempty"`
}

// Task is a copy of the state of one call that outlives its response. Modifying it does not affect the Book.
type Task struct {
	Spec

	Owner   string    `json:"owner"` // process that runs it, if any
	Status  Status    `json:"status"`
	Message string    `json:"message,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`

	// State is the requestState of the last question; "" at the start.
	State string `json:"state,omitempty"`
	// Round is the number of runs begun with answers, and Tries the number of processes that ran the current one.
	Round int `json:"round,omitempty"`
	Tries int `json:"tries,omitempty"`
	// Requests are the unanswered questions by key, and Answers the received answers.
	Requests map[string]json.RawMessage `json:"requests,omitempty"`
	Answers  map[string]json.RawMessage `json:"answers,omitempty"`

	Result json.RawMessage `json:"result,omitempty"` // if completed
	Error  json.RawMessage `json:"error,omitempty"`  // if failed

	// Asked are the keys of all questions so far, which are not reused.
	Asked []string `json:"asked,omitempty"`

	version int64 // of the store record
}

// lives reports whether the task is bound to a process, running or waiting in its instance.
func (t *Task) lives() bool { return t.Status == Working || t.Kept && t.Status == Input }

// sameRun reports whether a task is in the run that began with the state of run. A kept task has one run.
func (t *Task) sameRun(run *Task) bool {
	return t.Kept || t.Round == run.Round && t.Tries == run.Tries
}

// fence is the token of the current run: it ends when the task changes. That of a kept task, which changes while it runs,
// ends with its owner.
func (t *Task) fence(owner string) store.Fence {
	f := store.Fence{Kind: store.Task, ID: t.ID, Label: owner}
	if !t.Kept {
		f.Version = t.version
	}
	return f
}

// Ask sets the task to wait for answers.
func (t *Task) Ask(requests map[string]json.RawMessage) {
	t.Status, t.Requests, t.Answers = Input, requests, nil
	t.Asked = append(slices.Clip(t.Asked), slices.Sorted(maps.Keys(requests))...)
}

// Expires returns the end of the task's lifetime.
func (t *Task) Expires() time.Time { return t.Created.Add(t.TTL) }

// Answer stores answers and reports whether all questions are answered now. Answers to other keys are ignored.
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

// Next returns the params to continue the call: the original ones, the state and the answers.
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
