package task

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// poll is how often a client should ask how a task stands.
const poll = time.Second

// Describe is a task as clients see it.
func (t *Task) Describe() rawjson.Object {
	stamp := func(at time.Time) json.RawMessage {
		return rawjson.AppendString(nil, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	o := rawjson.Object{
		{Key: "taskId", Value: rawjson.AppendString(nil, t.ID)},
		{Key: "status", Value: rawjson.AppendString(nil, string(t.Status))},
		{Key: "createdAt", Value: stamp(t.Created)},
		{Key: "lastUpdatedAt", Value: stamp(t.Updated)},
		{Key: "ttlMs", Value: strconv.AppendInt(nil, t.TTL.Milliseconds(), 10)},
		{Key: "pollIntervalMs", Value: strconv.AppendInt(nil, poll.Milliseconds(), 10)},
	}
	if t.Message != "" {
		o.Set("statusMessage", rawjson.AppendString(nil, t.Message))
	}
	return o
}

// Detail is a task with what belongs to its status: what it asks, or what came of it.
func (t *Task) Detail() rawjson.Object {
	o := t.Describe()
	switch t.Status {
	case Input:
		var requests rawjson.Object
		for _, key := range slices.Sorted(maps.Keys(t.Requests)) {
			requests = append(requests, rawjson.Member{Key: key, Value: t.Requests[key]})
		}
		o.Set("inputRequests", requests.Append(nil))
	case Completed:
		o.Set("result", t.Result)
	case Failed:
		o.Set("error", t.Error)
	}
	return o
}

// DescribeLegacy is a task as clients of 2025-11-25 see it: there a tool that says that it failed has failed.
func (t *Task) DescribeLegacy() rawjson.Object {
	o := t.Describe()
	for i := range o {
		switch o[i].Key {
		case "ttlMs":
			o[i].Key = "ttl"
		case "pollIntervalMs":
			o[i].Key = "pollInterval"
		case "status":
			if t.Status == Completed && string(rawjson.Get(t.Result, "isError")) == "true" {
				o[i].Value = json.RawMessage(`"failed"`)
			}
		}
	}
	return o
}
