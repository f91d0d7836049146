package inputrequest

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Question is one question of a round and its answer, if any. It is stored as JSON between two requests.
type Question struct {
	Key    string          `json:"key"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	// Refused is the reason why it was not sent: an undeclared capability.
	Refused  string          `json:"no,omitempty"`
	Requires json.RawMessage `json:"needs,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
}

// Open reports whether the client still has to answer.
func (q *Question) Open() bool { return q.Refused == "" && q.Answer == nil }

// Take stores the client's answers and reports whether all questions have one.
func Take(list []Question, given jsonraw.Object) (complete bool) {
	complete = true
	for i := range list {
		q := &list[i]
		if q.Open() {
			q.Answer = given.Get(q.Key)
		}
		complete = complete && !q.Open()
	}
	return complete
}

// Requests returns the unanswered questions by key.
func Requests(list []Question) (requests jsonraw.Object) {
	for _, q := range list {
		if q.Open() {
			requests = append(requests, jsonraw.Member{Key: q.Key, Value: jsonraw.Object{
				{Key: "method", Value: jsonraw.AppendString(nil, q.Method)},
				{Key: "params", Value: q.Params},
			}.Append(nil)})
		}
	}
	return requests
}

// Responses parses inputResponses, an object of objects. Absent means no answers.
func Responses(raw json.RawMessage) (jsonraw.Object, error) {
	if jsonraw.IsNull(raw) {
		return nil, nil
	}
	o, err := jsonraw.ParseObject(raw)
	if err != nil {
		return nil, jsonrpc.InvalidParams("params.inputResponses must be an object")
	}
	for _, m := range o {
		if !jsonraw.IsObject(m.Value) {
			return nil, jsonrpc.InvalidParams("params.inputResponses[%q] must be an object", jsonrpc.Clip(m.Key))
		}
	}
	return o, nil
}

// Answers returns the answers to a round of n questions, for its plugin.
func Answers(list []Question, n int) ([]runtime.Answer, error) {
	if len(list) != n {
		return nil, errors.New("the state holds another round")
	}
	answers := make([]runtime.Answer, n)
	for i, q := range list {
		answers[i].Result = q.Answer
		if q.Refused != "" {
			answers[i] = runtime.Answer{Err: &runtime.AskError{Kind: runtime.KindUnsupported, Message: q.Refused, Requires: q.Requires}}
		}
	}
	return answers, nil
}

// Refuse answers all n questions of a round with an error.
func Refuse(n int, err error) []runtime.Answer {
	return slices.Repeat([]runtime.Answer{{Err: err}}, n)
}
