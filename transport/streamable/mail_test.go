package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store/storetest"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// asks has a host ask its client in a call, and returns the stream and the ID of the question, as JSON.
func (h *poolHost) asks(in headers) (*frames, string) {
	h.t.Helper()
	stream := h.opens(h.t.Context(), "POST", toolBody("ask"), in)
	for {
		e, ok := stream.next()
		if !ok {
			h.t.Fatal("the stream ended before the question")
		}
		if method, _ := jsonraw.String(jsonraw.Get(json.RawMessage(e.data), "method")); method == "elicitation/create" {
			return stream, string(jsonraw.Get(json.RawMessage(e.data), "id"))
		}
	}
}

func answerBody(id, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, id, name)
}

// mailOf returns the number of letters that wait for a session.
func (h *poolHost) mailOf(in headers) int {
	h.t.Helper()
	list, err := h.kept.Below(h.t.Context(), store.Mail, in["Mcp-Session-Id"])
	if err != nil {
		h.t.Fatal(err)
	}
	return len(list)
}

// The answer to a question finds its call, whichever host gets it.
func TestPool_anAnswerFindsItsCall(t *testing.T) {
	hosts := poolHosts(t, 3, Options{Tokens: people})
	in := hosts[0].starts("a")
	hosts[1].notifies(in, "notifications/initialized", "{}")
	one, first := hosts[0].asks(in)
	two, second := hosts[1].asks(in)
	if first == second {
		t.Errorf("got two questions of one ID %s in a session", first)
	}
	for _, made := range []string{`"x-1"`, `1`, `"` + strings.Repeat("A", nameSize) + `-1"`, first[:len(first)-1] + `9"`, `null`, `{}`} {
		hosts[2].do("POST", answerBody(made, "nobody"), in)
	}
	hosts[2].want("answer elsewhere", "POST", answerBody(first, "ann"), in, 202, "")
	if got := strings.Join(one.rest(), ""); !strings.Contains(got, `ann`) {
		t.Errorf("got %s, want the answer", got)
	}
	hosts[0].want("answer to the other", "POST", answerBody(second, "eve"), in, 202, "")
	if got := strings.Join(two.rest(), ""); !strings.Contains(got, `eve`) {
		t.Errorf("got %s, want the answer", got)
	}
	stolen, third := hosts[0].asks(in)
	as := headers{"Authorization": "Bearer b", "Mcp-Session-Id": in["Mcp-Session-Id"]}
	hosts[1].want("of another principal", "POST", answerBody(third, "bob"), as, 404, errorBody(third, -32600, gone))
	bobs := hosts[1].starts("b")
	hosts[1].want("in another session", "POST", answerBody(third, "bob"), bobs, 202, "")
	hosts[2].want("of its own", "POST", answerBody(third, "ann"), in, 202, "")
	if got := strings.Join(stolen.rest(), ""); !strings.Contains(got, `ann`) {
		t.Errorf("got %s, want the answer of ann", got)
	}
}

// A cancellation finds its call, whichever host gets it.
func TestPool_aCancellationFindsItsCall(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in := hosts[0].starts("a")
	done := make(chan struct{})
	go func() {
		defer close(done)
		hosts[0].want("call", "POST", toolBody("wait"), in, 200, cancelledBody("1", "the request was cancelled"))
	}()
	receive(t, hosts[0].entered)
	hosts[1].notifies(in, "notifications/cancelled", `{"requestId":1}`)
	if err := receive(t, hosts[0].left); err != context.Canceled {
		t.Errorf("the call ended with %v, want %v", err, context.Canceled)
	}
	receive(t, done)
}

// A message that belongs to no request reaches the client on its stream at another host, once.
func TestPool_messagesReachTheStreamElsewhere(t *testing.T) {
	hosts := poolHosts(t, 3, Options{Tokens: people})
	in := hosts[0].starts("a")
	hosts[1].want("ping", "POST", legacyBody(1, "ping", "{}"), in, 200, okBody)
	sender := hosts[0].h.sessions.peek(in["Mcp-Session-Id"])
	sender.notify([]byte(`"early"`))
	sender.mail.wait(t.Context())
	stream := hosts[1].opens(t.Context(), "GET", "", in)
	stream.next()
	hosts[2].opens(t.Context(), "GET", "", hosts[2].starts("a"))
	for i := range 20 {
		sender.notify(fmt.Append(nil, i))
	}
	want := []string{`"early"`}
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
	}
	var got []string
	for range want {
		e, _ := stream.next()
		got = append(got, e.data)
	}
	wantData(t, "the messages", got, want...)
	if n := hosts[2].mailOf(in); n != 0 {
		t.Errorf("got %d letters that wait, want none", n)
	}
}

// A flood of answers that nobody awaits is bounded, and the session goes on.
func TestPool_aFloodOfAnswersIsBounded(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people, Rate: Rate{PerSecond: -1}})
	in := hosts[0].starts("a")
	hosts[0].notifies(in, "notifications/initialized", "{}")
	stream, question := hosts[0].asks(in)
	other := hosts[0].starts("a")
	sender := hosts[0].h.sessions.peek(other["Mcp-Session-Id"])
	sender.notify([]byte(`"early"`))
	sender.mail.wait(t.Context())
	for i := range 600 {
		hosts[1].want("flood", "POST", answerBody(fmt.Sprintf(`"%s-%d"`, strings.Repeat("B", nameSize), i), "x"), in, 202, "")
	}
	if n := hosts[1].mailOf(in); n > 256 || n == 0 {
		t.Errorf("got %d letters, want 256 at most", n)
	}
	if n := hosts[1].mailOf(other); n != 1 {
		t.Errorf("another session of the caller has %d letters, want its one", n)
	}
	hosts[1].want("answer", "POST", answerBody(question, "ann"), in, 202, "")
	if got := strings.Join(stream.rest(), ""); !strings.Contains(got, "ann") {
		t.Errorf("got %s, want the answer", got)
	}
	hosts[1].want("DELETE", "DELETE", "", in, 204, "")
	if n := hosts[1].mailOf(in); n != 0 {
		t.Errorf("got %d letters of a session that has ended, want none", n)
	}
}

// A batch with the answer of 2025-03-26 is passed on too.
func TestPool_anAnswerInABatchFindsItsCall(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	as := headers{"Authorization": "Bearer a"}
	response, _ := hosts[0].do("POST", strings.Replace(beginBody, "2025-11-25", "2025-03-26", 1), as)
	as["Mcp-Session-Id"] = response.Header.Get("Mcp-Session-Id")
	hosts[0].notifies(as, "notifications/initialized", "{}")
	stream, question := hosts[0].asks(as)
	hosts[1].want("batch", "POST", "["+answerBody(question, "ann")+"]", as, 202, "")
	if got := strings.Join(stream.rest(), ""); !strings.Contains(got, "ann") {
		t.Errorf("got %s, want the answer", got)
	}
}

// A caller with too many letters in all is told to come back, and its message to its client waits.
func TestPool_mailOfACallerIsRefusedAtItsBound(t *testing.T) {
	host := poolHosts(t, 1, Options{Tokens: people})[0]
	in := host.starts("a")
	const principal = "token:alice"
	for i := range 32 {
		var all []store.Record
		for j := range 128 {
			all = append(all, store.Record{ID: fmt.Sprintf("S%d/%03d", i, j), Data: []byte("x"), Expires: time.Now().Add(time.Hour)})
		}
		if err := host.kept.Append(t.Context(), store.Mail, principal, all, nil); err != nil {
			t.Fatal(err)
		}
	}
	id := `"` + strings.Repeat("B", nameSize) + `-1"`
	response, body := host.do("POST", answerBody(id, "x"), in)
	if response.StatusCode != 503 || response.Header.Get("Retry-After") == "" || !strings.Contains(body, "too many messages of this caller wait for other hosts") {
		t.Errorf("got %d %q %s, want a refusal for now", response.StatusCode, response.Header.Get("Retry-After"), body)
	}
	s := host.h.sessions.peek(in["Mcp-Session-Id"])
	s.notify([]byte(`"told"`))
	s.mail.wait(t.Context()) // an attempt has failed
	if err := host.kept.RemoveBelow(t.Context(), store.Mail, "S0"); err != nil {
		t.Fatal(err)
	}
	host.want("answer", "POST", answerBody(id, "x"), in, 202, "")
	stream := host.opens(t.Context(), "GET", "", in)
	for e, ok := stream.next(); e.data != `"told"`; e, ok = stream.next() {
		if !ok {
			t.Fatal("the stream ended before the message that waited")
		}
	}
}

// Callers without a name have one bound together, and the letters of one of them make room for another.
func TestPool_mailOfAnonymousCallersIsSharedOut(t *testing.T) {
	host := poolHosts(t, 1, Options{})[0]
	in := host.starts("")
	for i := range 32 {
		var all []store.Record
		for j := range 128 {
			all = append(all, store.Record{ID: fmt.Sprintf("S%d/%03d", i, j), Data: []byte("x"), Expires: time.Now().Add(time.Hour)})
		}
		if err := host.kept.Append(t.Context(), store.Mail, identity.Anonymous, all, nil); err != nil {
			t.Fatal(err)
		}
	}
	host.want("answer", "POST", answerBody(`"`+strings.Repeat("B", nameSize)+`-1"`, "x"), in, 202, "")
	if n := host.mailOf(in); n != 1 {
		t.Errorf("got %d letters of the other session, want 1", n)
	}
}

// A batch with too many answers for other hosts is refused whole: its requests do not run, and no answer of it is stored.
func TestPool_answersOfABatchAreBounded(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	as := headers{"Authorization": "Bearer a"}
	response, _ := hosts[0].do("POST", strings.Replace(beginBody, "2025-11-25", "2025-03-26", 1), as)
	as["Mcp-Session-Id"] = response.Header.Get("Mcp-Session-Id")
	hosts[0].notifies(as, "notifications/initialized", "{}")
	stream, question := hosts[0].asks(as)
	batch := func(answers, cancellations int) string {
		all := []string{toolBody("say"), answerBody(question, "ann")}
		for i := range answers - 1 {
			all = append(all, answerBody(fmt.Sprintf(`"%s-%d"`, strings.Repeat("B", nameSize), i), "x"))
		}
		for i := range cancellations {
			all = append(all, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x%d"}}`, i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for _, n := range [][2]int{{1000, 0}, {1, 1000}, {32, 33}} {
		hosts[1].want("too many", "POST", batch(n[0], n[1]), as, 400,
			errorBody("null", -32600, "a batch has 64 answers and cancellations for other hosts at most: send fewer in each"))
	}
	if n := hosts[1].mailOf(as); n != 0 || len(hosts[1].entered) != 0 {
		t.Errorf("got %d letters and %d calls of a refused batch, want none", n, len(hosts[1].entered))
	}
	if response, body := hosts[1].do("POST", batch(32, 32), as); response.StatusCode != 200 || len(hosts[1].entered) != 1 {
		t.Errorf("as many as may be: got %d %s, want the answer of the call", response.StatusCode, body)
	}
	if got := strings.Join(stream.rest(), ""); !strings.Contains(got, "ann") {
		t.Errorf("got %s, want the answer", got)
	}
}

// A letter is taken by one host.
func TestPool_aLetterIsTakenOnce(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	for i := range 20 {
		r := store.Record{ID: fmt.Sprint("s/", i), Principal: "token:alice", Data: []byte("x"), Expires: time.Now().Add(time.Minute)}
		if err := hosts[0].kept.Append(t.Context(), store.Mail, r.Principal, []store.Record{r}, nil); err != nil {
			t.Fatal(err)
		}
		taken := make(chan bool, 2)
		for _, h := range hosts {
			go func() {
				_, is := h.h.pool.claim(context.Background(), &r)
				taken <- is
			}()
		}
		if a, b := receive(t, taken), receive(t, taken); a == b {
			t.Errorf("got taken %v and %v, want once", a, b)
		}
	}
}

// A large letter that nobody takes is read once by a host, however often it looks at the session.
func TestPool_mailThatNobodyTakesIsReadOnce(t *testing.T) {
	host := poolHosts(t, 1, Options{Tokens: people})[0]
	id := host.starts("a")["Mcp-Session-Id"]
	const size = 8 << 20
	large := store.Record{ID: id + "/0", Data: []byte(answerBody(`"`+strings.Repeat("B", nameSize)+`-1-1"`, strings.Repeat("x", size))), Expires: time.Now().Add(time.Minute)}
	if err := host.kept.Append(t.Context(), store.Mail, "token:alice", []store.Record{large}, nil); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 15 {
		host.looks(id, "token:alice")
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / size; n > 10 {
		t.Errorf("the memory for %d letters was needed, want that for a few", n)
	}
}

// looks has a host look at a session of a principal, and returns when it has.
func (h *poolHost) looks(id, principal string) {
	h.h.turn(id)
	for n, busy := h.h.pool.notices, true; busy; runtime.Gosched() {
		n.mu.Lock()
		_, busy = n.turns[principal]
		n.mu.Unlock()
	}
}

// An answer beside a request in a batch is not lost while the store is away: the request was done, and its client does not
// repeat the batch.
func TestPool_anAnswerInABatchOutlivesTheStore(t *testing.T) {
	dir := t.TempDir()
	hosts := []*poolHost{newPoolHost(t, storetest.Options(t, dir), Options{Tokens: people})}
	at := storetest.Options(t, dir)
	var away atomic.Bool
	at.Reached = func(string) error {
		if away.Load() {
			return store.ErrUnavailable
		}
		return nil
	}
	hosts = append(hosts, newPoolHost(t, at, Options{Tokens: people}))
	as := headers{"Authorization": "Bearer a"}
	response, _ := hosts[0].do("POST", strings.Replace(beginBody, "2025-11-25", "2025-03-26", 1), as)
	as["Mcp-Session-Id"] = response.Header.Get("Mcp-Session-Id")
	hosts[0].notifies(as, "notifications/initialized", "{}")
	stream, question := hosts[0].asks(as)
	hosts[1].want("ping", "POST", legacyBody(1, "ping", "{}"), as, 200, okBody)
	away.Store(true)
	hosts[1].want("batch", "POST", "["+legacyBody(1, "ping", "{}")+","+answerBody(question, "ann")+"]", as, 200, "["+okBody+"]")
	away.Store(false)
	over := time.AfterFunc(time.Minute, hosts[0].stop) // else the test hangs
	defer over.Stop()
	if got := strings.Join(stream.rest(), ""); !strings.Contains(got, "ann") {
		t.Errorf("got %s, want the answer", got)
	}
}

// While the store is away, the letters that wait in a process are bounded.
func TestPool_mailThatWaitsIsBounded(t *testing.T) {
	at := storetest.Options(t, t.TempDir())
	var away atomic.Bool
	at.Reached = func(string) error {
		if away.Load() {
			return store.ErrUnavailable
		}
		return nil
	}
	host := newPoolHost(t, at, Options{Tokens: people})
	s := host.h.sessions.peek(host.starts("a")["Mcp-Session-Id"])
	away.Store(true)
	for range 2000 {
		s.notify(make([]byte, 1<<10))
	}
	s.mail.mu.Lock()
	n := len(s.mail.add)
	s.mail.mu.Unlock()
	if n > 2*outboxEvents { // a batch that is being stored comes back
		t.Errorf("got %d letters that wait, want %d at most", n, 2*outboxEvents)
	}
}

// A letter that was taken is taken for hosts whose clock is behind, too.
func TestPool_aLetterIsTakenOnceByAnyClock(t *testing.T) {
	dir := t.TempDir()
	ahead, behind := newPoolHost(t, storetest.Options(t, dir), Options{Tokens: people}), storetest.Options(t, dir)
	behind.Now = func() time.Time { return time.Now().Add(-time.Minute) }
	r := store.Record{ID: "s/1", Principal: "token:alice", Data: []byte("x"), Expires: time.Now().Add(time.Minute)}
	if err := ahead.kept.Append(t.Context(), store.Mail, r.Principal, []store.Record{r}, nil); err != nil {
		t.Fatal(err)
	}
	_, first := ahead.h.pool.claim(t.Context(), &r)
	_, second := newPoolHost(t, behind, Options{Tokens: people}).h.pool.claim(t.Context(), &r)
	if !first || second {
		t.Errorf("got taken %v and %v, want once", first, second)
	}
}
