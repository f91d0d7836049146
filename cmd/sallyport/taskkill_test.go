package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// bank counts requests by their idempotency key. It kills the host shortly after the kill-th request.
type bank struct {
	mu    sync.Mutex
	kill  int
	host  *exec.Cmd
	keys  map[string]int
	paths map[string]map[string]bool // keys by path
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	b.mu.Lock()
	key := r.Header.Get("Idempotency-Key")
	b.keys[key]++
	if b.paths[r.URL.Path] == nil {
		b.paths[r.URL.Path] = map[string]bool{}
	}
	b.paths[r.URL.Path][key] = true
	if b.kill--; b.kill == 0 {
		host, later := b.host, time.Duration(rand.IntN(8))*time.Millisecond
		go func() { // ends with the pause
			time.Sleep(later)
			_ = host.Process.Kill() // at the latest now
		}()
	}
	b.mu.Unlock()
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	fmt.Fprint(w, "did ", r.URL.Path)
}

// killing is a run of tasks on a host that is killed repeatedly.
type killing struct {
	bank     *bank
	url      string
	open     map[string]int // running tasks, with their numbers
	done     map[int]taskView
	next     int
	want     int
	requests int // per task
}

// begin opens a task that makes three requests with pauses, and asks a question if its number is a multiple of four.
// Requests of odd ones are idempotent.
func (k *killing) begin(c *lineClient) error {
	n := k.next
	k.next++
	place := "once"
	if n%2 == 1 {
		place = "again"
	}
	var steps []step
	for i := range k.requests {
		if n%4 == 0 && i == 1 {
			steps = append(steps, step{"do": "ask", "text": "elicitation/create", "params": map[string]any{
				"message": "Go on?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}}}})
		}
		steps = append(steps, step{"do": "fetch", "params": map[string]any{"method": "POST", "url": fmt.Sprintf("%s/%s/%d/%d", k.url, place, n, i)}},
			step{"do": "sleep", "times": 3})
	}
	v, refused, err := c.ask("tools/call", map[string]any{"name": "effects-job", "arguments": effects("", steps...)})
	if err != nil {
		return err // a task without a known ID may exist
	}
	if v.ResultType != "task" {
		return fmt.Errorf("no task: %+v %s", v, refused)
	}
	k.open[v.TaskID] = n
	return nil
}

// turn polls all tasks once.
func (k *killing) turn(t *testing.T, c *lineClient) error {
	for id, n := range k.open {
		v, refused, err := c.ask("tasks/get", map[string]any{"taskId": id})
		if err != nil {
			return err
		}
		if refused != "" {
			t.Fatalf("task %d: got refusal %s, want success", n, refused)
		}
		switch v.Status {
		case "input_required":
			answers := map[string]any{}
			for key := range v.InputRequests {
				answers[key] = map[string]any{"action": "accept", "content": map[string]any{"ok": true}}
			}
			if _, _, err := c.ask("tasks/update", map[string]any{"taskId": id, "inputResponses": answers}); err != nil {
				return err
			}
		case "completed", "failed":
			k.done[n] = v
			delete(k.open, id)
		}
	}
	return nil
}

// live runs a host until all tasks have ended or it was killed.
func (k *killing) live(t *testing.T, c *lineClient) error {
	for {
		for len(k.open)+len(k.done) < k.want {
			if err := k.begin(c); err != nil {
				return err
			}
		}
		if err := k.turn(t, c); err != nil || len(k.done) == k.want {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// With a host that is killed repeatedly during a hundred tasks, each task ends, and no request is sent twice unless it
// is granted as idempotent.
func TestKill_everyTaskEndsAndSendsOnce(t *testing.T) {
	t.Parallel()
	const kills = 6
	b := &bank{keys: map[string]int{}, paths: map[string]map[string]bool{}}
	upstream := httptest.NewServer(b)
	defer upstream.Close()
	config := fmt.Sprintf("plugins: {effects: {limits: {deadline: 60s}, grants: [elicitation, 'net: POST %[1]s/once/**', {net: 'POST %[1]s/again/**', idempotent: true}]}}", upstream.URL)
	state, plugins := filepath.Join(t.TempDir(), "state"), folder(t, guest(t, "effects"))
	k := &killing{bank: b, url: upstream.URL, open: map[string]int{}, done: map[int]taskView{}, want: 100, requests: 3}
	killed := 0
	for len(k.done) < k.want {
		cmd := program(t, config, "serve", plugins)
		ownState(cmd, state)
		c := startLines(t, cmd)
		b.mu.Lock()
		if b.host, b.kill = cmd, 0; killed < kills {
			b.kill = 5 + rand.IntN(60)
		}
		b.mu.Unlock()
		err := k.live(t, c)
		if ended := c.end(); err == nil && ended == nil {
			continue
		}
		if killed++; killed > kills {
			t.Fatalf("got the host's end after %d kills, %v, want it running", kills, err)
		}
	}
	t.Logf("killed %d times, %d requests", killed, len(b.keys))
	k.check(t, killed)
}

// check compares the tasks' results with the requests that the bank received.
func (k *killing) check(t *testing.T, killed int) {
	unknown := 0
	for n, v := range k.done {
		again := n%2 == 1
		switch {
		case v.Error.Data.UnknownOutcome && !again:
			unknown++
			t.Log("unknown outcome: ", v.Error.Data.Request)
			if !strings.HasPrefix(v.Error.Data.Request, fmt.Sprintf("POST %s/once/%d/", k.url, n)) || !strings.Contains(v.Error.Message, v.Error.Data.Request) {
				t.Errorf("task %d: got %+v, want an unknown outcome of its own POST", n, v.Error)
			}
		case v.Status != "completed" || v.Result.IsError || strings.Count(v.Result.Content[0].Text, "did /") != k.requests:
			t.Errorf("task %d: got %+v, want it completed with %d requests", n, v, k.requests)
		default:
			for i := range k.requests {
				place := "once"
				if again {
					place = "again"
				}
				if got := len(k.bank.paths[fmt.Sprintf("/%s/%d/%d", place, n, i)]); got != 1 {
					t.Errorf("task %d: request %d: got %d keys, want 1", n, i, got)
				}
			}
		}
	}
	for path, keys := range k.bank.paths {
		for key := range keys {
			if times := k.bank.keys[key]; key == "" || times != 1 && !strings.HasPrefix(path, "/again/") {
				t.Errorf("%s: got key %q %d times, want once", path, key, times)
			}
		}
	}
	if most := killed * 4; unknown > most { // four calls of a plugin run concurrently
		t.Errorf("got %d unknown outcomes, want at most %d", unknown, most)
	}
}
