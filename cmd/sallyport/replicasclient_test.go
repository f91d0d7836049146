//go:build replicas

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// reply is the answer to one request, of a host or of haproxy.
type reply struct {
	status  int
	session string // of the header
	later   bool   // Retry-After: nothing of it was done
	result  taskView
	code    int // of a JSON-RPC error, or 0
	message string
	kind    string
	again   bool // the host says that the unchanged request may succeed later
	asked   json.RawMessage
	resumed int // requests for the rest of a broken stream
}

// ok reports whether the request succeeded.
func (r *reply) ok() bool { return r.status == http.StatusOK && r.code == 0 && !r.result.IsError }

// text returns the plugin's text, or the reason of a failure.
func (r *reply) text() string {
	if r.message == "" && len(r.result.Content) > 0 {
		return r.result.Content[0].Text
	}
	return r.message
}

// reason is a short name of a failure.
func (r *reply) reason() string {
	switch {
	case r.status == 0:
		return "unanswered: " + r.message
	case r.status != http.StatusOK:
		return fmt.Sprintf("status %d", r.status)
	}
	text, _, _ := strings.Cut(r.text(), ";")
	return r.kind + ": " + text[:min(len(text), 100)]
}

// rpc is a message of JSON-RPC.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
		Data    struct {
			Kind      string
			Retryable bool
		}
	} `json:"error"`
}

// take fills the reply with a response.
func (r *reply) take(m *rpc) {
	if m.Error != nil {
		r.code, r.message, r.kind, r.again = m.Error.Code, m.Error.Message, m.Error.Data.Kind, m.Error.Data.Retryable
		return
	}
	var failure struct {
		Meta struct {
			Error struct {
				Kind      string
				Retryable bool
			} `json:"dev.sallyport/error"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &r.result); err == nil {
		err = json.Unmarshal(m.Result, &failure)
	}
	r.kind, r.again, r.asked = failure.Meta.Error.Kind, failure.Meta.Error.Retryable, m.Result
}

// taskName is the name of a request in its header.
func taskName(method string, params map[string]any) string {
	for key, of := range map[string]string{"name": "tools/call", "taskId": "tasks/"} {
		if name, is := params[key].(string); is && strings.HasPrefix(method, of) {
			return name
		}
	}
	return ""
}

// open sends one request of the latest revision, or of 2025-11-25 with a session.
func (c *cluster) open(ctx context.Context, session, method string, message map[string]any) (*http.Response, error) {
	params, _ := message["params"].(map[string]any)
	if params == nil && session == "" {
		params = map[string]any{}
	}
	if session == "" && params["_meta"] == nil {
		params["_meta"] = taskCaps
	}
	message["jsonrpc"] = "2.0"
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	q, err := modernRequest(c.url, method, taskName(method, params), body)
	if err != nil {
		return nil, err
	}
	if session != "" {
		q.Header.Del("Mcp-Method")
		q.Header.Del("Mcp-Name")
		q.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		if session != "new" {
			q.Header.Set("Mcp-Session-Id", session)
		} else {
			q.Header.Del("Mcp-Protocol-Version")
		}
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	return http.DefaultClient.Do(q.WithContext(ctx))
}

// post sends one request and reads its answer. asked is called with each question of the host in a session.
func (c *cluster) post(ctx context.Context, session, method string, params map[string]any, asked func(rpc)) (r reply) {
	answer, err := c.open(ctx, session, method, map[string]any{"id": 1, "method": method, "params": params})
	if err != nil {
		return reply{message: err.Error()}
	}
	defer answer.Body.Close()
	r.status, r.session, r.later = answer.StatusCode, answer.Header.Get("Mcp-Session-Id"), answer.Header.Get("Retry-After") != ""
	if r.status != http.StatusOK {
		body, _ := io.ReadAll(answer.Body)
		r.message = string(bytes.TrimSpace(body))
		return r
	}
	take := func(m rpc) bool {
		switch {
		case m.Method == "":
			r.take(&m)
			return false
		case m.ID != nil && asked != nil:
			asked(m)
		}
		return true
	}
	last, err := eachMessage(answer, take)
	if err != nil && session != "" && last != "" {
		return c.resume(ctx, session, last, &r, take)
	}
	if err != nil { // a broken stream: its effects are not known
		return reply{message: "broken stream: " + err.Error(), session: r.session}
	}
	return r
}

// resume reads the rest of a stream of a session that broke, from any host, into r.
func (c *cluster) resume(ctx context.Context, session, last string, r *reply, take func(rpc) bool) reply {
	for ; ctx.Err() == nil; time.Sleep(pace) {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
		if err != nil {
			break
		}
		for key, value := range map[string]string{"Authorization": "Bearer " + c.token, "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25", "Accept": "text/event-stream", "Last-Event-ID": last} {
			q.Header.Set(key, value)
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			continue
		}
		r.resumed++
		if answer.StatusCode == http.StatusOK {
			next, err := eachMessage(answer, take)
			answer.Body.Close()
			if err == nil {
				return *r
			}
			if next != "" {
				last = next
			}
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode < 500 {
			return reply{status: answer.StatusCode, message: string(bytes.TrimSpace(body)), session: r.session, resumed: r.resumed}
		}
	}
	return reply{message: "a stream that broke is never resumed", session: r.session}
}

// eachMessage calls f with each message of a response, until f returns false, and returns the ID of the last event. An end
// before that is an error.
func eachMessage(answer *http.Response, f func(rpc) bool) (last string, err error) {
	var m rpc
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		err := json.NewDecoder(answer.Body).Decode(&m)
		if err == nil {
			f(m)
		}
		return "", err
	}
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return last, err
		}
		if id, found := bytes.CutPrefix(line, []byte("id: ")); found {
			last = string(bytes.TrimSpace(id))
		}
		data, found := bytes.CutPrefix(line, []byte("data:"))
		if !found || len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		m = rpc{}
		if err := json.Unmarshal(data, &m); err != nil || !f(m) {
			return last, err
		}
	}
}

// keyed returns the params of a call with an idempotency key, or without one for "".
func keyed(tool, key string, steps ...step) map[string]any {
	meta := maps.Clone(taskCaps)
	if key != "" {
		meta["dev.sallyport/idempotencyKey"] = key
	}
	return map[string]any{"name": tool, "arguments": effects("", steps...), "_meta": meta}
}

// pace is the pause of a client before it repeats a request.
const pace = 100 * time.Millisecond
