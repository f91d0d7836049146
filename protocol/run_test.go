package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/protocol/result"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// ledger is a plugin that counts its runs and their ends. It waits or asks before each answer, as told.
type ledger struct {
	keeps, asks bool
	wait        time.Duration
	answer      string

	mu         sync.Mutex
	open, runs int
	twice      int // runs that were ended twice
	committed  int
}

var _ catalog.Server = (*ledger)(nil)

func (l *ledger) Keeps(string) bool                     { return l.keeps }
func (l *ledger) Limit(identity.Identity) (int, string) { return 0, "" }
func (l *ledger) Digest() string                        { return "" }
func (l *ledger) Terms() []byte                         { return nil }

// Run answers, even if its caller has given up.
func (l *ledger) Run(ctx context.Context, c catalog.Call, _ catalog.Request) (catalog.Run, error) {
	if l.asks {
		round := []runtime.Question{{Method: "elicitation/create", Params: json.RawMessage(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)}}
		if _, err := c.Client.(hostfuncs.Asker).Ask(ctx, round); err != nil {
			return nil, err
		}
	}
	if l.wait > 0 {
		select {
		case <-time.After(l.wait):
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	l.runs++
	return &entry{of: l}, nil
}

// entry is a run in a ledger.
type entry struct {
	of    *ledger
	ended bool
}

func (e *entry) Answer() json.RawMessage { return json.RawMessage(e.of.answer) }

func (e *entry) Commit(catalog.Verdict) error {
	e.end(true)
	return nil
}

func (e *entry) Abort(reason error) error {
	e.end(false)
	return reason
}

func (e *entry) end(commit bool) {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	if !e.ended {
		e.of.open--
		if commit {
			e.of.committed++
		}
	} else if commit {
		e.of.twice++
	}
	e.ended = true
}

// fixed is a catalog that never changes.
type fixed struct{ s *catalog.Snapshot }

func (f fixed) Snapshot() *catalog.Snapshot       { return f.s }
func (f fixed) Watch(func(catalog.Change)) func() { return func() {} }

// Calls, tasks and calls that wait for answers end each of their runs once, also if they are cancelled or their answer
// is refused.
func TestServer_endsEachRunOnce(t *testing.T) {
	const fine, shapeless = `{"content":[]}`, `{"content":1}`
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	call := func(tool string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"_meta":{%s}}}`, tool, meta)
	}
	begin := func(t *testing.T, c *Conn, tool string) (answered chan []byte) {
		answered = make(chan []byte, 1)
		go func() { answered <- handle(t, c, call(tool)).Body }()
		synctest.Wait()
		return answered
	}
	cancel := func(t *testing.T, c *Conn) {
		handle(t, c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	}
	for name, tt := range map[string]struct {
		plugin *ledger
		runs   int
		do     func(t *testing.T, c *Conn)
	}{
		"call":           {&ledger{answer: fine}, 1, func(t *testing.T, c *Conn) { <-begin(t, c, "x") }},
		"refused answer": {&ledger{answer: shapeless}, 1, func(t *testing.T, c *Conn) { <-begin(t, c, "x") }},
		"cancelled call": {&ledger{answer: fine, wait: time.Hour}, 1, func(t *testing.T, c *Conn) {
			answered := begin(t, c, "x")
			cancel(t, c)
			<-answered
		}},
		"call with kept state": {&ledger{answer: fine, keeps: true}, 1, func(t *testing.T, c *Conn) { <-begin(t, c, "x") }},
		"cancelled call with kept state": {&ledger{answer: fine, keeps: true, wait: time.Hour}, 1, func(t *testing.T, c *Conn) {
			answered := begin(t, c, "x")
			cancel(t, c)
			<-answered
		}},
		"call that waits for answers in vain": {&ledger{answer: fine, keeps: true, asks: true}, 0, func(t *testing.T, c *Conn) {
			<-begin(t, c, "x")
			time.Sleep(time.Hour)
		}},
		"call that is rerun with its answers": {&ledger{answer: fine, asks: true}, 1, func(t *testing.T, c *Conn) {
			body := <-begin(t, c, "x")
			handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","requestState":%s,"inputResponses":{"ask-1-1":{"action":"decline"}},"_meta":{%s}}}`,
				jsonraw.Get(body, "result", "requestState"), meta))
		}},
		"task": {&ledger{answer: fine, wait: time.Minute}, 1, func(t *testing.T, c *Conn) {
			<-begin(t, c, "job")
			time.Sleep(time.Hour)
		}},
		"cancelled task": {&ledger{answer: fine, wait: 24 * time.Hour}, 1, func(t *testing.T, c *Conn) {
			body := <-begin(t, c, "job")
			handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tasks/cancel","params":{"taskId":%s,"_meta":{%s}}}`, jsonraw.Get(body, "result", "taskId"), meta))
		}},
		"task with a refused answer": {&ledger{answer: shapeless}, 1, func(t *testing.T, c *Conn) { <-begin(t, c, "job") }},
		"task of a closed server":    {&ledger{answer: fine, wait: 24 * time.Hour}, 1, func(t *testing.T, c *Conn) { <-begin(t, c, "job") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, err := manifest.Parse([]byte(`{"tools":[{"name":"x","inputSchema":{"type":"object"}},{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`))
				if err != nil {
					t.Fatal(err)
				}
				l := tt.plugin
				s := NewServer(fixed{catalog.Join([]*catalog.Offer{catalog.Publish(catalog.Plugin{Name: "p", Manifest: m, Server: l})}, nil)}, nil)
				c := s.Connect(ConnOptions{Principal: "stdio:1"})
				tt.do(t, c)
				synctest.Wait()
				c.Close()
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if l.open != 0 || l.twice != 0 || l.runs != tt.runs {
					t.Errorf("got %d runs, %d not ended, %d ended twice, want %d runs that end once", l.runs, l.open, l.twice, tt.runs)
				}
			})
		})
	}
}

func TestServer_commitsNothingOfARefusedAnswer(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"tools":[{"name":"x","inputSchema":{"type":"object"}}],"prompts":[{"name":"x","arguments":[{"name":"a"}]}],
"resources":[{"uri":"test://x","name":"x"}],"resourceTemplates":[{"uriTemplate":"test://t/{a}","name":"t"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	fine := map[string]string{
		"tools/call": `{"content":[]}`, "prompts/get": `{"messages":[]}`,
		"resources/read": `{"contents":[]}`, "completion/complete": `{"completion":{"values":[]}}`,
	}
	for _, request := range []struct{ method, params string }{
		{"tools/call", `"name":"x"`},
		{"prompts/get", `"name":"x"`},
		{"resources/read", `"uri":"test://x"`},
		{"resources/read", `"uri":"test://t/1"`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}`},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"test://t/{a}"},"argument":{"name":"a","value":""}`},
	} {
		for _, answer := range []struct {
			text    string
			commits int
		}{
			{fine[request.method], 1},
			{`{"content":1,"messages":1,"contents":1,"completion":1}`, 0},
			{`{"content":[],"messages":[],"contents":[],"completion":{"values":[]},"x":"` + strings.Repeat("x", result.MaxResult) + `"}`, 0},
		} {
			l := &ledger{answer: answer.text}
			s := NewServer(fixed{catalog.Join([]*catalog.Offer{catalog.Publish(catalog.Plugin{Name: "p", Manifest: m, Server: l})}, nil)}, nil)
			c := s.Connect(ConnOptions{Principal: "stdio:1"})
			body := handle(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, request.method, request.params)).Body
			if l.runs != 1 || l.committed != answer.commits {
				t.Errorf("%s %s, answer %.60s: got %d runs, %d committed, want 1 and %d (%.200s)", request.method, request.params, answer.text, l.runs, l.committed, answer.commits, body)
			}
			c.Close()
			s.Close(t.Context())
		}
	}
}
