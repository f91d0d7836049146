package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/protocol/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/catalogue"
	"github.com/sallyport-mcp/sallyport/registry/serving"
	"github.com/sallyport-mcp/sallyport/runtime"
)

var update = flag.Bool("update", false, "write the server's side of testdata anew")

// TestWire plays each file of testdata: its client section goes in line by line, and what comes out
// must be its server section.
//
// A line of the client is a message, with $M for the members of a modern _meta, or a directive:
//
//	@connect [mute] [heard] [eve|ada] begins a new conn; mute has no way to notify, heard is known to be heard
//	@page N                 makes a new server with pages of N entries
//	@search                 makes a new server that lists two tools for all
//	@add NAME TOOL…         adds a plugin with tools
//	@sleep DURATION         lets time pass
//	@end                    ends the conn's subscriptions
//	@close                  closes the conn
//	@keeps                  has the plugin t keep its state for all callers
//	@page_tool              adds a plugin p whose tool has a page
//	@grant LINE             grants the plugin t this too
//	@tasks                  gives the plugin t tools whose calls can be tasks
//	@sorted                 shows the responses of a step, sorted, before its notifications: they come on streams of their own
//
// $CAPS in a line are a modern _meta whose client declares everything, $STATE1 is the first requestState
// that the server sent, which its section shows as STATE1, and so on. ~ after it changes one letter. $TASKS are $CAPS of
// a client that knows tasks, and $TASK1 is the first taskId.
//
// Each line is handled until all that runs is blocked; then comes the next one.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no wire tests: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			client, server := section(archive, "client"), section(archive, "server")
			var got []byte
			synctest.Test(t, func(t *testing.T) { got = play(t, client.Data) })
			if *update {
				server.Data = got
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, server.Data) {
				t.Errorf("the server said\n%s\nand should have said\n%s", got, server.Data)
			}
		})
	}
}

// section finds a file of an archive, or adds it.
func section(a *txtar.Archive, name string) *txtar.File {
	for i := range a.Files {
		if a.Files[i].Name == name {
			return &a.Files[i]
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name})
	return &a.Files[len(a.Files)-1]
}

// player is one run of a wire test.
type player struct {
	t       *testing.T
	catalog *registry.Registry
	server  *Server
	conn    *Conn

	grants []grant.Grant
	state  runtime.State

	sorted bool

	mu     sync.Mutex
	out    bytes.Buffer
	states []string
	tasks  []string
}

func play(t *testing.T, script []byte) []byte {
	p := &player{t: t}
	p.catalog = newCatalog(t, p.obey)
	p.serve(&Options{Name: "test", Version: "1"})
	p.connect(ConnOptions{Notify: p.say})
	var calls sync.WaitGroup
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		before := p.said()
		if words := strings.Fields(line); strings.HasPrefix(line, "@") {
			p.directive(words[0], words[1:])
		} else if line != "" && line[0] != '#' {
			calls.Go(func() { p.message(line) })
		}
		synctest.Wait()
		if p.sorted {
			p.sort(before)
		}
	}
	p.conn.Close()
	calls.Wait()
	if err := p.server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return p.out.Bytes()
}

// said is how much the server has said, in bytes.
func (p *player) said() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Len()
}

// sort orders what was said since from.
func (p *player) sort(from int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	step := string(p.out.Bytes()[from:])
	lines := slices.Collect(strings.Lines(step))
	slices.SortStableFunc(lines, func(a, b string) int {
		const response = `{"jsonrpc":"2.0","id":`
		switch first, second := strings.HasPrefix(a, response), strings.HasPrefix(b, response); {
		case first && second:
			return strings.Compare(a, b)
		case first:
			return -1
		case second:
			return 1
		}
		return 0
	})
	p.out.Truncate(from)
	p.out.WriteString(strings.Join(lines, ""))
}

func (p *player) directive(name string, args []string) {
	switch name {
	case "@connect":
		o := ConnOptions{Notify: p.say}
		for _, a := range args {
			if a == "eve" || a == "ada" {
				o.Principal = a
			}
			if a == "heard" {
				o.Heard = func() bool { return true }
			}
			if a == "mute" {
				o.Notify = nil
			}
		}
		p.connect(o)
	case "@page":
		n, _ := strconv.Atoi(args[0])
		p.serve(&Options{Name: "test", Version: "1", PageSize: n})
		p.connect(ConnOptions{})
	case "@search":
		p.serve(&Options{Name: "test", Version: "1", Search: true})
		p.connect(ConnOptions{})
	case "@add":
		addTools(p.t, p.catalog, p.obey, args[0], args[1:])
		time.Sleep(time.Second) // the catalogue tells of changes a little later
	case "@sleep":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(d)
	case "@end":
		p.conn.EndSubscriptions()
	case "@close":
		p.conn.Close()
	case "@page_tool":
		const manifest = `{"name":"p","tools":[{"name":"t","inputSchema":{"type":"object"},"_meta":{"mine/x":1,"ui":{"resourceUri":"ui://p/page","visibility":["model"]}}}],
			"resources":[{"uri":"ui://p/page","name":"page","mimeType":"text/html;profile=mcp-app"}]}`
		if err := p.catalog.AddGo("p", json.RawMessage(manifest), p.obey); err != nil {
			p.t.Fatal(err)
		}
	case "@tasks":
		manifest, err := os.ReadFile("testdata/tasks.json")
		if err == nil {
			err = p.catalog.AddGo("t", manifest, p.obey)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	case "@grant":
		g, err := grant.ParseLine(strings.Join(args, " "))
		if err != nil {
			p.t.Fatal(err)
		}
		p.grants = append(p.grants, g)
		p.configure()
	case "@sorted":
		p.sorted = true
	case "@keeps":
		p.state = runtime.StatePlugin
		p.configure()
	default:
		p.t.Fatalf("unknown directive %s", name)
	}
}

func (p *player) configure() {
	t := registry.Config{Grants: grant.NewSet(p.grants...), State: p.state}
	if err := p.catalog.Configure(map[string]registry.Config{"t": t}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) serve(o *Options) {
	if p.server != nil {
		p.conn.Close()
		if err := p.server.Close(p.t.Context()); err != nil {
			p.t.Error(err)
		}
	}
	p.server = NewServer(p.catalog, o)
	p.server.callPrefix = "c"
}

func (p *player) connect(o ConnOptions) {
	if p.conn != nil {
		p.conn.Close()
	}
	p.conn = p.server.Connect(o)
}

func (p *player) message(line string) {
	line = p.expand(line)
	if jsonrpc.IsBatch([]byte(line)) {
		p.say(p.conn.HandleBatch(p.t.Context(), []byte(line), p.say).Body)
		return
	}
	m, err := jsonrpc.Parse([]byte(line))
	if err != nil {
		p.t.Errorf("%s: %v", line, err)
		return
	}
	p.say(p.conn.Handle(p.t.Context(), &m, p.say).Body)
}

// expand fills in what a line stands for.
func (p *player) expand(line string) string {
	taskMeta := strings.Replace(askableMeta, `"roots":{}`, `"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}`, 1)
	line = strings.NewReplacer("$M", modernMeta, "$CAPS", askableMeta, "$TASKS", taskMeta).Replace(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, id := range p.tasks {
		line = strings.ReplaceAll(line, fmt.Sprintf("$TASK%d", i+1), id)
	}
	return stateName.ReplaceAllStringFunc(line, func(name string) string {
		name, changed := strings.CutSuffix(name[len("$STATE"):], "~")
		n, _ := strconv.Atoi(name)
		state := []byte(p.states[n-1])
		if changed {
			state[len(state)/2] ^= 1
		}
		return string(state)
	})
}

// hideTasks writes the names of tasks in their place.
func (p *player) hideTasks(msg []byte) []byte {
	for _, member := range taskID.FindAllSubmatch(msg, -1) {
		if id := string(member[1]); !slices.Contains(p.tasks, id) {
			p.tasks = append(p.tasks, id)
		}
	}
	for i, id := range p.tasks {
		msg = bytes.ReplaceAll(msg, []byte(id), fmt.Appendf(nil, "TASK%d", i+1))
	}
	return msg
}

// hideStates writes the names of states in their place.
func (p *player) hideStates(msg []byte) []byte {
	msg = p.hideTasks(msg)
	return sealedState.ReplaceAllFunc(msg, func(member []byte) []byte {
		state := string(sealedState.FindSubmatch(member)[1])
		n := slices.Index(p.states, state)
		if n < 0 {
			n = len(p.states)
			p.states = append(p.states, state)
		}
		return fmt.Appendf(nil, `"requestState":"STATE%d"`, n+1)
	})
}

var (
	taskID      = regexp.MustCompile(`"taskId":"([^"]*)"`)
	stateName   = regexp.MustCompile(`\$STATE\d+~?`)
	sealedState = regexp.MustCompile(`"requestState":"([^"]*)"`)
)

// say notes one message of the server.
func (p *player) say(msg []byte) {
	if msg == nil {
		return
	}
	if err := rawjson.Valid(msg); err != nil || bytes.ContainsAny(msg, "\r\n") {
		p.t.Errorf("not one line of JSON: %s", msg)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Write(builtin.ReplaceAll(p.hideStates(msg), []byte(`{"uri":"sallyport://plugins"}`)))
	p.out.WriteByte('\n')
}

// builtin is the catalogue's own entry, whose words are not this package's affair.
var builtin = regexp.MustCompile(`{"uri":"sallyport://plugins"[^{}]*}`)

const askableMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// newCatalog is a registry with the plugin t, which does what the _meta of a request says.
func newCatalog(t testing.TB, serve serving.Func) *registry.Registry {
	t.Helper()
	r, err := registry.New(t.Context(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("testdata/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddGo("t", manifest, serve); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func addTools(t testing.TB, r *registry.Registry, serve serving.Func, plugin string, tools []string) {
	t.Helper()
	var list []json.RawMessage
	for _, name := range tools {
		list = append(list, json.RawMessage(`{"name":"`+name+`","description":"added","inputSchema":{"type":"object"}}`))
	}
	manifest := rawjson.Object{{Key: "name", Value: textOf(plugin)}, {Key: "tools", Value: rawjson.Array(list)}}.Append(nil)
	if err := r.AddGo(plugin, manifest, serve); err != nil {
		t.Fatal(err)
	}
}

func textOf(s string) json.RawMessage { return rawjson.AppendString(nil, s) }

// obey is a plugin that does what its caller wrote into params._meta:
//
//	"notify": [[method, params], …]  sends these first; ["through the gate", [method, params]] as a guest does
//	"wait": milliseconds             then waits, or until it is cancelled
//	"ask": [[question, …], …]        asks these rounds, and answers with what was answered
//	"reply": value                   answers with this
//	"replyText": string              answers with these bytes
//	"fail": {kind, message}          ends so; {"code": n} is a JSON-RPC error, {"panic": true} ours
//
// Without any of these it says what it was asked.
func (p *player) obey(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	meta := rawjson.Get(params, "_meta")
	notes, _ := rawjson.Elements(rawjson.Get(meta, "notify"))
	for _, n := range notes {
		p.tell(ctx, meta, n)
	}
	if ms, err := strconv.Atoi(string(rawjson.Get(meta, "wait"))); err == nil {
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
			return nil, &runtime.EndError{Kind: runtime.KindCancelled, Message: "cancelled", Err: ctx.Err()}
		}
	}
	if rounds, _ := rawjson.Elements(rawjson.Get(meta, "ask")); rounds != nil {
		return p.ask(ctx, method, rounds)
	}
	if text, ok := rawjson.String(rawjson.Get(meta, "replyText")); ok {
		return json.RawMessage(text), nil
	}
	if fail := rawjson.Get(meta, "fail"); fail != nil {
		return nil, failureOf(fail)
	}
	if reply := rawjson.Get(meta, "reply"); reply != nil {
		return bytes.Clone(reply), nil
	}
	return said(method, params), nil
}

// tell sends one notification of a call, as the gate would.
func (p *player) tell(ctx context.Context, meta, note json.RawMessage) {
	pair, _ := rawjson.Elements(note)
	switch name, _ := rawjson.String(pair[0]); name {
	case "notifications/progress":
		p.client(meta).Progress(ctx, pair[1])
	case "notifications/message":
		p.client(meta).Message(ctx, pair[1])
	case "through the gate":
		pair, _ := rawjson.Elements(pair[1])
		method, _ := rawjson.String(pair[0])
		if _, err := runtime.GateFrom(ctx).Ask(ctx, method, pair[1], nil); err != nil {
			p.t.Errorf("%s: %v", method, err)
		}
	case "denied":
		message, _ := rawjson.String(pair[1])
		p.client(meta).(interface{ Denied(*runtime.AskError) }).Denied(&runtime.AskError{Kind: runtime.KindDenied, Message: message, Hint: "net: GET https://example.com/"})
	default:
		if _, err := runtime.GateFrom(ctx).Ask(ctx, name, pair[1], nil); err != nil {
			p.t.Errorf("%s: %v", name, err)
		}
	}
}

// ask asks rounds as a dialect does.
func (p *player) ask(ctx context.Context, method string, rounds []json.RawMessage) (json.RawMessage, error) {
	var told []string
	for _, raw := range rounds {
		var round []runtime.Question
		if err := json.Unmarshal(raw, &round); err != nil {
			p.t.Error(err)
		}
		for _, a := range runtime.GateFrom(ctx).(runtime.Rounds).AskRound(ctx, round, nil) {
			var refused *runtime.AskError
			switch {
			case errors.As(a.Err, &refused) && refused.Requires != nil && len(round) == 1:
				return nil, &runtime.GuestError{Code: -1, Message: refused.Message,
					Data: rawjson.Object{{Key: "requiredCapabilities", Value: refused.Requires}}.Append(nil)}
			case errors.As(a.Err, &refused):
				told = append(told, refused.Error())
			case a.Err != nil:
				return nil, a.Err
			default:
				told = append(told, string(a.Result))
			}
		}
	}
	return said(method, json.RawMessage(`{"uri":"test://a","arguments":`+string(textOf(strings.Join(told, " / ")))+`}`)), nil
}

// client finds the request that has this _meta: a plugin of this process has no gate.
func (p *player) client(meta json.RawMessage) catalogue.Client {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	for _, r := range p.conn.inFlight {
		if bytes.Equal(rawjson.Get(r.params, "_meta"), meta) {
			return r
		}
	}
	p.t.Errorf("no request has the _meta %s", meta)
	return &request{}
}

func failureOf(fail json.RawMessage) error {
	message, _ := rawjson.String(rawjson.Get(fail, "message"))
	if code, err := strconv.Atoi(string(rawjson.Get(fail, "code"))); err == nil {
		return &runtime.GuestError{Code: code, Message: message, Data: rawjson.Get(fail, "data")}
	}
	kind, _ := rawjson.String(rawjson.Get(fail, "kind"))
	switch kind {
	case "panic":
		panic("a bug")
	case "bug":
		return errors.New("secret detail")
	case "denied":
		ask := &runtime.AskError{Kind: runtime.KindDenied, Message: message, Hint: "net: GET https://example.com/"}
		return &runtime.EndError{Kind: ask.Kind, Message: ask.Message, Err: ask}
	}
	return &runtime.EndError{Kind: runtime.Kind(kind), Message: message, Stack: "secret stack"}
}

// said answers each method in its own shape with what was asked.
func said(method string, params json.RawMessage) json.RawMessage {
	asked := textOf(string(rawjson.Get(params, "arguments")))
	switch method {
	case "tools/call":
		return json.RawMessage(`{"content":[{"type":"text","text":` + string(asked) + `}]}`)
	case "prompts/get":
		return json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":` + string(asked) + `}}]}`)
	case "resources/read":
		return json.RawMessage(`{"contents":[{"uri":` + string(rawjson.Get(params, "uri")) + `,"text":"hello"}]}`)
	}
	return json.RawMessage(`{"completion":{"values":["` + strings.Repeat(`x","`, 120) + `y"]}}`)
}

// logTo returns a logger that a test reads.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
