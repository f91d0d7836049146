//go:build programs && linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	sdkExamples   = "github.com/modelcontextprotocol/go-sdk/examples/server/"
	mcpgoExamples = "github.com/mark3labs/mcp-go/examples/"
)

// wholeServer is an MCP server that nobody here wrote, and requests to it.
type wholeServer struct {
	pkg   string
	args  []string // of its command line; FILE is a file in a folder of its own
	steps []serverStep
}

// serverStep is a request: of a tool or a prompt by its native name, of a resource, or of a completion.
type serverStep struct {
	tool, prompt, uri, complete string
	args                        map[string]any
}

var wholeServers = []wholeServer{
	{sdkExamples + "hello", nil, []serverStep{
		{tool: "greet", args: map[string]any{"name": "größe"}},
		{tool: "greet", args: map[string]any{"name": ""}},
	}},
	{sdkExamples + "everything", nil, []serverStep{
		{tool: "greet", args: map[string]any{"name": "x"}},
		{tool: "greet (structured)", args: map[string]any{"name": "ö"}},
		{tool: "greet (with Icons)", args: map[string]any{"name": "<>"}},
		{tool: "greet (content with ResourceLink)", args: map[string]any{"name": "x y"}},
		{tool: "ping"}, {tool: "log"}, {tool: "elicit (form)"}, {tool: "roots"},
		{prompt: "greet", args: map[string]any{"name": "x"}},
		{prompt: "greet (with Icons)"},
		{uri: "embedded:info"},
		{uri: "http://example.com/~x/"}, // an error of the server
		{complete: "greet", args: map[string]any{"name": "a"}},
	}},
	{sdkExamples + "memory", []string{"-memory", "FILE"}, []serverStep{
		{tool: "create_entities", args: map[string]any{"entities": []any{entity("Ada", "person"), entity("London", "city")}}},
		{tool: "create_relations", args: map[string]any{"relations": []any{map[string]any{"from": "Ada", "to": "London", "relationType": "lives in"}}}},
		{tool: "add_observations", args: map[string]any{"observations": []any{map[string]any{"entityName": "Ada", "contents": []any{"größe"}, "observations": []any{}}}}},
		{tool: "search_nodes", args: map[string]any{"query": "Ada"}},
		{tool: "open_nodes", args: map[string]any{"names": []any{"London"}}},
		{tool: "delete_entities", args: map[string]any{"entityNames": []any{"London"}}},
		{tool: "read_graph"},
	}},
	{sdkExamples + "sequentialthinking", nil, []serverStep{
		{uri: "thinking://sessions"},
		{tool: "start_thinking", args: map[string]any{"problem": "why", "sessionId": "one", "estimatedSteps": 2}},
		{tool: "review_thinking", args: map[string]any{"sessionId": "none"}},
	}},
	{sdkExamples + "toolschemas", nil, []serverStep{
		{tool: "simple greeting", args: map[string]any{"name": "x"}},
		{tool: "manual greeting", args: map[string]any{"name": "x"}},
		{tool: "unvalidated greeting", args: map[string]any{"user": "x"}},
		{tool: "customized greeting 1", args: map[string]any{"name": "x"}},
		{tool: "customized greeting 2", args: map[string]any{"name": "x"}},
	}},
	{sdkExamples + "custom-transport", nil, []serverStep{
		{tool: "greet", args: map[string]any{"name": "x"}},
	}},
	{mcpgoExamples + "everything", nil, []serverStep{
		{tool: "echo", args: map[string]any{"message": "größe"}},
		{tool: "add", args: map[string]any{"a": 1, "b": 2.5}},
		{tool: "longRunningOperation", args: map[string]any{"duration": 0.1, "steps": 3}},
		{tool: "getTinyImage"},
		{tool: "get_resource_link", args: map[string]any{"resource_type": "x"}},
		{prompt: "simple_prompt"},
		{prompt: "complex_prompt", args: map[string]any{"temperature": "1", "style": "formal"}},
		{uri: "test://static/resource"}, {uri: "test://static/resource/7"}, {uri: "test://static/resource/8"}, {uri: "test://dynamic/resource/9"},
		{complete: "complex_prompt", args: map[string]any{"style": "c"}},
	}},
	{mcpgoExamples + "sampling_server", nil, []serverStep{
		{tool: "ask_llm", args: map[string]any{"question": "why?"}},
		{tool: "greet", args: map[string]any{"name": "x"}},
	}},
}

func entity(name, kind string) map[string]any {
	return map[string]any{"name": name, "entityType": kind, "observations": []any{"known"}}
}

// TestServers_equalTheirNativeSelves compares the messages that a client receives: natively in the era that the server
// speaks, and from the same server as a plugin in both.
func TestServers_equalTheirNativeSelves(t *testing.T) {
	for _, server := range wholeServers {
		t.Run(strings.NewReplacer(sdkExamples, "sdk-", mcpgoExamples, "mcp-go-").Replace(server.pkg), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			line := server.line(home)
			dir, native := server.build(t, line)
			want := server.converse(t, "2025-11-25", exec.Command(native, line...), "")
			if want[0] == "" {
				t.Fatal("natively: got empty lists, want entries to compare")
			}
			config := fmt.Sprintf("plugins: {%s: {grants: [roots, elicitation, {sampling: {calls: 3, tokens: 10000}}, 'fs: write %s/**']}}", server.name(), home)
			for _, version := range eras() {
				if err := os.RemoveAll(filepath.Join(home, "file")); err != nil {
					t.Fatal(err)
				}
				got := server.converse(t, version, program(t, config, "serve", dir), server.name()+"-")
				for i := range want {
					if got[i] != want[i] {
						t.Errorf("%s %+v:\n     got %.1500s\nnatively %.1500s", version, append([]serverStep{{}}, server.steps...)[i], got[i], want[i])
					}
				}
			}
		})
	}
}

// name returns the name of the server as a plugin.
func (s wholeServer) name() string { return strings.ReplaceAll(filepath.Base(s.pkg), "-", "_") }

// line returns the arguments of the server, with a file in a folder.
func (s wholeServer) line(home string) []string {
	line := slices.Clone(s.args)
	for i := range line {
		line[i] = strings.Replace(line[i], "FILE", filepath.Join(home, "file"), 1)
	}
	return line
}

// build builds the server natively, and in a plugin folder with its tool file. Its version is that of go.mod.
func (s wholeServer) build(t *testing.T, line []string) (dir, native string) {
	t.Helper()
	dir, native = t.TempDir(), filepath.Join(t.TempDir(), "native")
	buildProgram(t, ".", s.pkg, native)
	module, _, _ := strings.Cut(s.pkg, "/examples/")
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, s.name())
	build := program(t, "", "build", "--go", s.pkg+"@"+strings.TrimSpace(string(version)), "-o", file+".wasm")
	build.Env = append(build.Env, goCaches(t)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build --go: got %v %s, want success", err, out)
	}
	if line != nil {
		raw, _ := json.Marshal(map[string]any{"server": map[string]any{"args": line}})
		put(t, file+".tool.yaml", raw)
	}
	if out, err := program(t, "", "compile", dir).CombinedOutput(); err != nil {
		t.Fatalf("compile: got %v %s, want success", err, out)
	}
	return dir, native
}

// converse sends the lists' requests and the steps to a server, and returns what the client received in each.
func (s wholeServer) converse(t *testing.T, version string, cmd *exec.Cmd, prefix string) (all []string) {
	t.Helper()
	wire := &transcript{Transport: commandTransport(cmd), prefix: prefix}
	session := modelled(t, version, wire)
	if version == "2025-11-25" && session.InitializeResult().Capabilities.Logging != nil {
		if err := session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			t.Fatal(err)
		}
	}
	var entries []string
	for _, entry := range entriesOf(t, session) {
		entries = append(entries, wire.own(entry))
	}
	slices.Sort(entries)
	wire.take()
	wire.lines = slices.DeleteFunc(entries, func(e string) bool { return e == "" })
	for _, step := range append([]serverStep{{}}, s.steps...) {
		if err := step.send(t.Context(), session, prefix); err != nil && !isServerError(err) {
			t.Errorf("%s %+v: got %v, want an answer", version, step, err)
		}
		all = append(all, wire.take())
	}
	return all
}

func isServerError(err error) bool {
	var refusal *jsonrpc.Error
	return errors.As(err, &refusal)
}

// modelled returns a client session with a model, a user and roots.
func modelled(t *testing.T, version string, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"random": "r"}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "because"}}, nil
		},
	})
	client.AddRoots(&mcp.Root{Name: "work", URI: "file:///work"})
	s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// send sends the request of a step. The empty step sends none.
func (step serverStep) send(ctx context.Context, s *mcp.ClientSession, prefix string) error {
	meta := mcp.Meta{"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
	text := map[string]string{}
	for key, value := range step.args {
		text[key], _ = value.(string)
	}
	var err error
	switch {
	case step.tool != "":
		_, err = s.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: publicName(prefix, step.tool), Arguments: step.args})
	case step.prompt != "":
		_, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: publicName(prefix, step.prompt), Arguments: text})
	case step.uri != "":
		_, err = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: step.uri})
	case step.complete != "":
		for key, value := range text {
			_, err = s.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: publicName(prefix, step.complete)},
				Argument: mcp.CompleteParamsArgument{Name: key, Value: value}})
		}
	}
	return err
}

// publicName returns the name of a plugin's entry.
func publicName(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + regexp.MustCompile(`[^A-Za-z0-9_-]`).ReplaceAllString(name, "_")
}

// entriesOf returns the entries of all lists.
func entriesOf(t *testing.T, s *mcp.ClientSession) (all []any) {
	t.Helper()
	collect := func(entry any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	capabilities := s.InitializeResult().Capabilities
	if capabilities.Tools != nil {
		for e, err := range s.Tools(t.Context(), nil) {
			collect(e, err)
		}
	}
	if capabilities.Prompts != nil {
		for e, err := range s.Prompts(t.Context(), nil) {
			collect(e, err)
		}
	}
	if capabilities.Resources != nil {
		for e, err := range s.Resources(t.Context(), nil) {
			collect(e, err)
		}
		for e, err := range s.ResourceTemplates(t.Context(), nil) {
			collect(e, err)
		}
	}
	return all
}

// transcript records the messages that a client receives, in a form that is the same in both eras.
type transcript struct {
	mcp.Transport
	prefix string // of the names of a plugin's entries; "" natively

	mu    sync.Mutex
	lines []string
}

// Connect implements mcp.Transport.
func (w *transcript) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := w.Transport.Connect(ctx)
	return &recordedConnection{conn, w}, err
}

type recordedConnection struct {
	mcp.Connection
	wire *transcript
}

// Read implements mcp.Connection.
func (c *recordedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Request:
		c.wire.request(m.Method, m.Params)
	case *jsonrpc.Response:
		c.wire.response(m)
	}
	return m, err
}

// request records a request or notification of the server. The host answers pings itself, and names the plugin in
// questions and in the log. mcp-go sends its last progress beside the result, in either order.
func (w *transcript) request(method string, params json.RawMessage) {
	text := plain(params)
	if method == "ping" || strings.Contains(text, `"progress":3,"total":3`) {
		return
	}
	if name := strings.TrimSuffix(w.prefix, "-"); name != "" {
		text = strings.NewReplacer("Plugin "+name+" asks: ", "", `"title":"Plugin `+name+`: random",`, "", `,"logger":"`+name+`"`, "", "{}", "").Replace(text)
	}
	w.lines = append(w.lines, method+" "+text)
}

// response records a response. A result that asks for input stands for the requests in it.
func (w *transcript) response(m *jsonrpc.Response) {
	if m.Error != nil {
		w.lines = append(w.lines, "error "+m.Error.Error())
		return
	}
	var asks struct {
		InputRequests map[string]struct {
			Method string
			Params json.RawMessage
		}
	}
	_ = json.Unmarshal(m.Result, &asks)
	for _, r := range asks.InputRequests {
		w.request(r.Method, r.Params)
	}
	if asks.InputRequests == nil {
		w.lines = append(w.lines, "result "+plain(m.Result))
	}
}

func (w *transcript) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.lines, "\n")
	w.lines = nil
	return all
}

// own returns an entry of a list as the server has it, "" for one of the host.
func (w *transcript) own(entry any) string {
	raw, _ := json.Marshal(entry)
	var members map[string]any
	_ = json.Unmarshal(raw, &members)
	name, _ := members["name"].(string)
	uri, _ := members["uri"].(string)
	_, listed := members["inputSchema"]
	if strings.HasPrefix(uri, "sallyport:") || listed && !strings.HasPrefix(name, w.prefix) {
		return ""
	}
	if w.prefix == "" && uri == "" && members["uriTemplate"] == nil {
		name = publicName("-", name)[1:]
	}
	members["name"] = strings.TrimPrefix(name, w.prefix)
	raw, _ = json.Marshal(members)
	return plain(raw)
}
