package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/runtime"
)

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

// said returns the size of the server's output so far, in bytes.
func (p *player) said() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Len()
}

// subscriptionOf matches the subscription id of a notification.
var subscriptionOf = regexp.MustCompile(`"io\.modelcontextprotocol/subscriptionId":("[^"]*"|[0-9]+)`)

// sort orders the messages since from: responses first, then notifications by subscription, in order within each.
func (p *player) sort(from int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	step := string(p.out.Bytes()[from:])
	lines := slices.Collect(strings.Lines(step))
	key := func(line string) string {
		if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`) {
			return "0" + line
		}
		return "1" + subscriptionOf.FindString(line)
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	p.out.Truncate(from)
	p.out.WriteString(strings.Join(lines, ""))
}

// directive executes a directive line of a script.
func (p *player) directive(name string, args []string) {
	switch name {
	case "@connect":
		p.connect(p.connection(args))
	case "@page":
		n, _ := strconv.Atoi(args[0])
		p.serve(&Options{Name: "test", Version: "1", PageSize: n})
		p.connect(ConnOptions{})
	case "@search":
		p.serve(&Options{Name: "test", Version: "1", Search: true})
		p.connect(ConnOptions{})
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
	case "@sorted":
		p.sorted = true
	default:
		p.arrange(name, args)
	}
}

// connection returns the options given in a script.
func (p *player) connection(args []string) ConnOptions {
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
	return o
}

// arrange changes the server's entries or the plugin's grants.
func (p *player) arrange(name string, args []string) {
	switch name {
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
	case "@keeps":
		p.state = runtime.StatePlugin
		p.configure()
	case "@add":
		addTools(p.t, p.catalog, p.obey, args[0], args[1:])
		time.Sleep(time.Second) // the catalog reports changes with a delay
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
	p.server.calls.prefix = "c"
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

// expand replaces the placeholders in a line.
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

// hideTasks replaces task IDs by placeholders.
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

// hideStates replaces states by placeholders.
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

// say records one message of the server.
func (p *player) say(msg []byte) {
	if msg == nil {
		return
	}
	if err := jsonraw.Valid(msg); err != nil || bytes.ContainsAny(msg, "\r\n") {
		p.t.Errorf("not one line of JSON: %s", msg)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Write(builtin.ReplaceAll(p.hideStates(msg), []byte(`{"uri":"sallyport://plugins"}`)))
	p.out.WriteByte('\n')
}

// builtin matches the catalog's own entry, which other packages test.
var builtin = regexp.MustCompile(`{"uri":"sallyport://plugins"[^{}]*}`)

const askableMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
