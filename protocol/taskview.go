package protocol

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/protocol/task"
)

// describe is a task as clients see it.
func describe(t *task.Task) rawjson.Object {
	stamp := func(at time.Time) json.RawMessage {
		return rawjson.AppendString(nil, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	o := rawjson.Object{
		{Key: "taskId", Value: rawjson.AppendString(nil, t.ID)},
		{Key: "status", Value: rawjson.AppendString(nil, string(t.Status))},
		{Key: "createdAt", Value: stamp(t.Created)},
		{Key: "lastUpdatedAt", Value: stamp(t.Updated)},
		{Key: "ttlMs", Value: strconv.AppendInt(nil, t.TTL.Milliseconds(), 10)},
		{Key: "pollIntervalMs", Value: strconv.AppendInt(nil, taskPoll.Milliseconds(), 10)},
	}
	if t.Message != "" {
		o.Set("statusMessage", rawjson.AppendString(nil, t.Message))
	}
	return o
}

// detail is a task with what belongs to its status: what it asks, or what came of it.
func detail(t *task.Task) rawjson.Object {
	o := describe(t)
	switch t.Status {
	case task.Input:
		var requests rawjson.Object
		for _, key := range slices.Sorted(maps.Keys(t.Requests)) {
			requests = append(requests, rawjson.Member{Key: key, Value: t.Requests[key]})
		}
		o.Set("inputRequests", requests.Append(nil))
	case task.Completed:
		o.Set("result", t.Result)
	case task.Failed:
		o.Set("error", t.Error)
	}
	return o
}

// members are those of a JSON object.
func members(raw json.RawMessage) map[string]json.RawMessage {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil
	}
	all := make(map[string]json.RawMessage, len(o))
	for _, m := range o {
		all[m.Key] = m.Value
	}
	return all
}
