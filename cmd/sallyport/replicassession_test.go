//go:build replicas

package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"
)

// session is one of 2025-11-25: it begins, makes calls with effects, one of which asks, and ends. Its requests go to any host,
// and a stream that breaks is resumed. No session may be lost.
func (l *load) session(n int) (last told) {
	id := ""
	for i := range 4 {
		path := l.path("session", n, i)
		params := keyed("effects-run", path, l.fetch(path))
		if i == 2 {
			params = keyed("effects-run", path, question, l.fetch(path))
		}
		params["_meta"] = map[string]any{"dev.sallyport/idempotencyKey": path}
		r := l.patiently("session", func() reply {
			if id == "" {
				if id = l.initialize(); id == "" {
					return reply{status: http.StatusServiceUnavailable, message: "no session"}
				}
			}
			r := l.c.post(l.ctx, id, "tools/call", params, func(m rpc) { l.answerIn(id, m) })
			if r.resumed > 0 {
				l.note("session", "a stream that broke is resumed")
			}
			if r.status == http.StatusNotFound {
				l.fault("session: %s", r.message)
			}
			return r
		})
		last = l.end(&r, path)
	}
	if id != "" {
		l.posts(id, "session: its end", http.MethodDelete, nil, http.StatusNoContent)
	}
	return last
}

// posts sends a message of a session that has no response, until a host has taken it.
func (l *load) posts(session, what, method string, message map[string]any, want int) {
	for {
		status, err := l.c.sends(l.ctx, session, method, message)
		switch {
		case err == nil && status == want:
			return
		case method == http.MethodDelete && status == http.StatusNotFound: // the one before was answered by nobody
			return
		case l.ctx.Err() != nil || err == nil && status < 500 || l.strict:
			l.fault("%s: status %d, %v", what, status, err)
			return
		}
		l.note("session", fmt.Sprintf("answer %s: status %d", what, status))
		time.Sleep(pace)
	}
}

// sends sends a message of a session, or ends it.
func (c *cluster) sends(ctx context.Context, session, method string, message map[string]any) (status int, err error) {
	var answer *http.Response
	if method == http.MethodDelete {
		q, err := http.NewRequestWithContext(ctx, method, c.url, nil)
		if err != nil {
			return 0, err
		}
		q.Header.Set("Authorization", "Bearer "+c.token)
		q.Header.Set("Mcp-Session-Id", session)
		answer, err = http.DefaultClient.Do(q)
		if err != nil {
			return 0, err
		}
	} else if answer, err = c.open(ctx, session, "", maps.Clone(message)); err != nil {
		return 0, err
	}
	answer.Body.Close()
	return answer.StatusCode, nil
}

// initialize begins a session and returns its ID, or "".
func (l *load) initialize() string {
	params := map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"elicitation": map[string]any{}},
		"clientInfo": map[string]any{"name": "load", "version": "1"}}
	r := l.c.post(l.ctx, "new", "initialize", params, nil)
	if r.status != http.StatusOK || r.session == "" {
		l.note("session", "answer initialize "+r.reason())
		return ""
	}
	l.posts(r.session, "initialized", http.MethodPost, map[string]any{"method": "notifications/initialized"}, http.StatusAccepted)
	return r.session
}

// answerIn answers a question of the host.
func (l *load) answerIn(session string, m rpc) {
	l.posts(session, "answer to a question", http.MethodPost, map[string]any{"id": m.ID, "result": map[string]any{"action": "accept", "content": map[string]any{"ok": true}}}, http.StatusAccepted)
}
