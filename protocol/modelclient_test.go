package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

// fault is a failure injected at one event.
type fault string

// Network faults occur at a request, the others at any durable step.
const (
	cutBefore fault = "connection cut before the request is read"
	cutIn     fault = "connection cut in the answer"
	cutAfter  fault = "connection cut after the request, without an answer"
	killSent  fault = "host killed while a request is answered"
	goneSent  fault = "client gone while a request is answered"
	killStep  fault = "host killed at a step that lasts"
	goneStep  fault = "client gone at a step that lasts"
	linkless  fault = "file system without second names"
	inTheWay  fault = "somebody puts a folder where a file is to land"
	twins     fault = "the same request twice at once"
	repeats   fault = "the same request again after its answer"
)

// schedule is one call of one program under faults, by a client that retries until it has a final answer or cannot
// retry.
type schedule struct {
	w     *world
	seed  uint64
	rng   *rand.Rand
	dir   string
	who   string
	steps []step
	tool  string
	key   string // idempotency key, or ""

	mu       sync.Mutex
	atStep   map[int]fault // by step number
	atSent   map[int]fault // by request number
	steps_   int
	sent     int
	arrived  map[string]int
	cancels  []context.CancelFunc
	happened map[fault]int
	ids      int
	odd      fault // file system fault during the commit

	heard []string // answers received by the client
	final string   // final answer; "" if none is possible
}

// newSchedule generates the schedule of a seed.
func newSchedule(w *world, seed uint64) *schedule {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := &schedule{w: w, seed: seed, rng: rng, dir: fmt.Sprintf("s%d", seed), who: fmt.Sprintf("stdio:%d", seed), tool: "p-run",
		steps: program(rng, "a", 0), atStep: map[int]fault{}, atSent: map[int]fault{}, arrived: map[string]int{}, happened: map[fault]int{}}
	if rng.IntN(3) == 0 {
		s.key = "key"
	}
	if rng.IntN(5) == 0 {
		s.tool = "p-job"
	}
	for range rng.IntN(3) {
		if rng.IntN(2) == 0 {
			s.atSent[1+rng.IntN(5)] = []fault{cutBefore, cutIn, cutAfter, killSent, goneSent}[rng.IntN(5)]
		} else {
			s.atStep[1+rng.IntN(25)] = []fault{killStep, goneStep}[rng.IntN(2)]
		}
	}
	switch n := rng.IntN(12); {
	case n < 2:
		s.odd = linkless
	case n == 2 && s.key == "" && len(s.atStep)+len(s.atSent) == 0: // a retry would start with it
		s.odd = inTheWay
	}
	return s
}

// prepare creates the files that a step changes.
func (s *schedule) prepare(one step) {
	folder := "files"
	switch one.Op {
	case opDirect:
		folder = "direct"
	case opAppend, opRemove, opMove, opWrite:
	default:
		return
	}
	dir := filepath.Join(s.w.dir, folder, s.dir)
	err := os.MkdirAll(dir, 0o700)
	if one.Op != opWrite {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, one.ID), []byte("0"), 0o600))
	}
	if err != nil {
		s.w.t.Fatal(err)
	}
}

// note counts an injected fault; s.mu is held.
func (s *schedule) note(f fault) { s.happened[f]++ }

// drawn counts an injected fault of the client.
func (s *schedule) drawn(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(f)
}

// event is called at a durable step. It returns true to kill the host.
func (s *schedule) event(h *host, step string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps_++
	s.interfere(step)
	f, planned := s.atStep[s.steps_]
	if !planned {
		return false
	}
	s.note(f)
	s.heard = append(s.heard, fmt.Sprintf("%s %s: %s", h.name, step, f))
	if f == goneStep {
		s.leave()
		return false
	}
	return true
}

// interfere injects the file system fault.
func (s *schedule) interfere(at string) {
	dir := filepath.Join(s.w.dir, "files", s.dir)
	switch {
	case s.odd == linkless && at == "prepared":
		links, _ := filepath.Glob(filepath.Join(dir, ".sallyport-*-was"))
		for _, l := range links {
			_ = os.Remove(l)
		}
		s.note(linkless)
	case s.odd == inTheWay && at == "committed":
		each(s.steps, func(one step) {
			if one.Op == opWrite && os.MkdirAll(filepath.Join(dir, one.ID, "theirs"), 0o700) == nil {
				s.note(inTheWay)
			}
		})
	}
}

// leave disconnects the client; s.mu is held.
func (s *schedule) leave() {
	for _, cancel := range s.cancels {
		cancel()
	}
}

// serve is the HTTP server of the test.
func (s *schedule) serve(from *host, w http.ResponseWriter, r *http.Request) {
	dir, id := path.Split(r.URL.Path)
	if path.Base(dir) != s.dir {
		panic(http.ErrAbortHandler) // from a call that outlived its schedule
	}
	s.mu.Lock()
	s.sent++
	f := s.atSent[s.sent]
	if f != "" {
		s.note(f)
		s.heard = append(s.heard, fmt.Sprintf("%s %s %s: %s", from.name, r.Method, id, f))
	}
	if f != cutBefore && r.Method != http.MethodGet {
		s.arrived[id]++
	}
	if f == goneSent {
		s.leave()
	}
	s.mu.Unlock()
	switch f {
	case killSent:
		from.dead.Store(true)
		fallthrough
	case cutBefore, cutAfter:
		panic(http.ErrAbortHandler)
	case cutIn:
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("par"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write([]byte("ok"))
}

// reply is an answer for the client; lost means not delivered.
type reply struct {
	lost bool
	body json.RawMessage
}

func (r *reply) is(kind string) bool {
	return !r.lost && string(jsonraw.Get(r.body, "result", "resultType")) == `"`+kind+`"`
}

const (
	caps  = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}%s}`
	tasks = `,"extensions":{"io.modelcontextprotocol/tasks":{}}`
)

// send sends one request to a host.
func (s *schedule) send(h *host, method, params string) reply {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.mu.Lock()
	s.cancels = append(s.cancels, cancel)
	s.ids++
	meta := fmt.Sprintf(caps, tasks)
	if s.key != "" {
		meta += fmt.Sprintf(`,"dev.sallyport/idempotencyKey":%q`, s.key)
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{%s}}}`, s.ids, method, params, meta)
	s.mu.Unlock()
	m, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		s.w.t.Fatalf("%s: %v", text, err)
	}
	c := h.server.Connect(protocol.ConnOptions{Principal: s.who})
	defer c.Close()
	resp := c.Handle(ctx, &m, nil)
	r := reply{lost: h.dead.Load() || ctx.Err() != nil || resp.Body == nil, body: resp.Body}
	s.mu.Lock()
	defer s.mu.Unlock()
	said := string(resp.Body)
	if r.lost {
		said = "lost: " + said
	}
	s.heard = append(s.heard, fmt.Sprintf("%s %.600s\n      %.900s", h.name, text, said))
	return r
}

// pick returns a live host.
func (s *schedule) pick() *host {
	s.w.reap()
	return s.w.all()[s.rng.IntN(2)]
}

// params returns the params of the call.
func (s *schedule) params() string {
	steps, err := json.Marshal(s.steps)
	if err != nil {
		s.w.t.Fatal(err)
	}
	return fmt.Sprintf(`"name":%q,"arguments":{"dir":%q,"steps":%s}`, s.tool, s.dir, steps)
}

// call runs the call until its final answer.
func (s *schedule) call() { s.goOn(s.ask(s.params(), s.key != "")) }

// goOn continues the call from an answer until the final one.
func (s *schedule) goOn(r reply) {
	base, more := s.params(), ""
	until := time.Now().Add(time.Minute)
	for rounds := 0; rounds < 60 && time.Now().Before(until); rounds++ {
		text := string(r.body)
		switch {
		case r.lost && s.key == "" && more == "":
			s.find()
			return // the client cannot retry
		case strings.Contains(text, "is running"):
			rounds-- // it ends when the host is through with it
			<-time.After(time.Millisecond)
		case r.lost:
		case r.is("input_required"):
			more = s.answers(r.body)
			if s.key != "" && s.rng.IntN(8) == 0 {
				more = "" // the questions are lost
			}
		case r.is("task"):
			s.follow(r.body)
			return
		default:
			s.final = text
			s.again(base + more)
			return
		}
		r = s.ask(base+more, s.key != "" || more != "")
	}
	s.w.t.Errorf("seed %d: there is no end of it:\n%s", s.seed, strings.Join(s.heard, "\n"))
}

// ask sends the call, sometimes twice concurrently if repetition is allowed.
func (s *schedule) ask(params string, may bool) reply {
	if !may || s.odd == inTheWay || s.rng.IntN(6) > 0 {
		return s.send(s.pick(), "tools/call", params)
	}
	s.drawn(twins)
	var both [2]reply
	var work sync.WaitGroup
	for i, h := range [2]*host{s.pick(), s.pick()} {
		work.Go(func() { both[i] = s.send(h, "tools/call", params) })
	}
	work.Wait()
	better := func(r reply) int {
		switch {
		case r.lost:
			return 0
		case strings.Contains(string(r.body), "is running"), strings.Contains(string(r.body), "was used already"):
			return 1
		}
		return 2
	}
	if better(both[1]) > better(both[0]) {
		return both[1]
	}
	return both[0]
}

// answers returns the answers to the questions of a result, with its state.
func (s *schedule) answers(body json.RawMessage) string {
	state, _ := jsonraw.String(jsonraw.Get(body, "result", "requestState"))
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":%s`, state, s.responses(jsonraw.Get(body, "result", "inputRequests")))
}

func (s *schedule) responses(requests json.RawMessage) string {
	asked, _ := jsonraw.ParseObject(requests)
	var o jsonraw.Object
	for _, m := range asked {
		answer := `{"action":"accept","content":{}}`
		if s.rng.IntN(8) == 0 {
			answer = `{"action":"decline"}`
		}
		o.Set(m.Key, json.RawMessage(answer))
	}
	return string(o.Append(nil))
}

// again repeats an answered call where allowed, which must have no effect.
func (s *schedule) again(params string) {
	if s.odd == inTheWay || s.key == "" && !strings.Contains(params, "requestState") || s.rng.IntN(4) > 0 {
		return
	}
	s.drawn(repeats)
	for _, h := range []*host{s.pick(), s.pick()} {
		s.send(h, "tools/call", params)
	}
}

// unhear drops the last answer.
func (s *schedule) unhear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = s.heard[:len(s.heard)-1]
}

// find follows the task of a client that was gone before it read the task's ID: the task runs all the same.
func (s *schedule) find() {
	started, err := s.pick().store.List(context.Background(), store.Task, s.who, "", 0)
	if err != nil {
		s.w.t.Error(err)
	}
	for _, one := range started {
		s.poll(one.ID)
	}
}

// follow polls the task that an answer names.
func (s *schedule) follow(body json.RawMessage) {
	id, _ := jsonraw.String(jsonraw.Get(body, "result", "taskId"))
	s.poll(id)
}

// poll polls a task to its end and answers its questions.
func (s *schedule) poll(id string) {
	about := fmt.Sprintf(`"taskId":%q`, id)
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		r := s.send(s.pick(), "tasks/get", about)
		if r.lost {
			continue
		}
		switch status, _ := jsonraw.String(jsonraw.Get(r.body, "result", "status")); status {
		case "working":
			s.unhear()
			<-time.After(time.Millisecond)
		case "input_required":
			s.send(s.pick(), "tasks/update", about+`,"inputResponses":`+s.responses(jsonraw.Get(r.body, "result", "inputRequests")))
		default:
			s.final = string(r.body)
			return
		}
	}
	s.w.t.Errorf("seed %d: the task has no end:\n%s", s.seed, strings.Join(s.heard, "\n"))
}
