package task

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// poll is the recommended polling interval for clients.
const poll = time.Second

// Describe returns a task in the form for clients.
func (t *Task) Describe() jsonraw.Object {
	stamp := func(at time.Time) json.RawMessage {
		return jsonraw.AppendString(nil, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	o := jsonraw.Object{
		{Key: "taskId", Value: jsonraw.AppendString(nil, t.ID)},
		{Key: "status", Value: jsonraw.AppendString(nil, string(t.Status))},
		{Key: "createdAt", Value: stamp(t.Created)},
		{Key: "lastUpdatedAt", Value: stamp(t.Updated)},
		{Key: "ttlMs", Value: strconv.AppendInt(nil, t.TTL.Milliseconds(), 10)},
		{Key: "pollIntervalMs", Value: strconv.AppendInt(nil, poll.Milliseconds(), 10)},
	}
	if t.Message != "" {
		o.Set("statusMessage", jsonraw.AppendString(nil, t.Message))
	}
	return o
}

// Detail returns Describe with the open questions, the result or the error of the task.
func (t *Task) Detail() jsonraw.Object {
	o := t.Describe()
	switch t.Status {
	case Input:
		var requests jsonraw.Object
		for _, key := range slices.Sorted(maps.Keys(t.Requests)) {
			requests = append(requests, jsonraw.Member{Key: key, Value: t.Requests[key]})
		}
		o.Set("inputRequests", requests.Append(nil))
	case Completed:
		o.Set("result", t.Result)
	case Failed:
		o.Set("error", t.Error)
	}
	return o
}

// DescribeLegacy returns a task in the form of 2025-11-25. There a tool result with isError counts as failed.
func (t *Task) DescribeLegacy() jsonraw.Object {
	o := t.Describe()
	for i := range o {
		switch o[i].Key {
		case "ttlMs":
			o[i].Key = "ttl"
		case "pollIntervalMs":
			o[i].Key = "pollInterval"
		case "status":
			if t.Status == Completed && string(jsonraw.Get(t.Result, "isError")) == "true" {
				o[i].Value = json.RawMessage(`"failed"`)
			}
		}
	}
	return o
}
