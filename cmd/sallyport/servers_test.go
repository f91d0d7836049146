//go:build programs && linux

package main

import (
	"bufio"
	"bytes"
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
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	sdkExamples   = "github.com/modelcontextprotocol/go-sdk/examples/server/"
	mcpgoExamples = "github.com/mark3labs/mcp-go/examples/"
	// rmcpServer is a server of the official SDK of Rust. Its WASI build is committed, see its SHA256SUMS.
	rmcpServer = "testdata/rmcp/counter"
)

// wholeServer is an MCP server that nobody here wrote, and requests to it.
type wholeServer struct {
	pkg   string
	args  []string // of its command line; FILE is a file in a folder of its own
	steps []serverStep
}

// serverStep is a request of a client: for the lists, or of a tool, a prompt or a completion by its native name, or of a
// resource. A quiet one is of a tool, without a progress token.
type serverStep struct {
	Kind string         `json:"kind"` // lists, tool, quiet, prompt, complete or uri
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

var wholeServers = []wholeServer{
	{sdkExamples + "hello", nil, []serverStep{
		{"tool", "greet", map[string]any{"name": "größe"}},
		{"tool", "greet", map[string]any{"name": ""}},
	}},
	{sdkExamples + "everything", nil, []serverStep{
		{"tool", "greet", map[string]any{"name": "x"}},
		{"tool", "greet (structured)", map[string]any{"name": "ö"}},
		{"tool", "greet (with Icons)", map[string]any{"name": "<>"}},
		{"tool", "greet (content with ResourceLink)", map[string]any{"name": "x y"}},
		{"tool", "ping", nil}, {"tool", "log", nil}, {"tool", "elicit (form)", nil}, {"tool", "roots", nil},
		{"prompt", "greet", map[string]any{"name": "x"}},
		{"prompt", "greet (with Icons)", nil},
		{"uri", "embedded:info", nil},
		{"uri", "http://example.com/~x/", nil}, // an error of the server
		{"complete", "greet", map[string]any{"name": "a"}},
	}},
	{sdkExamples + "memory", []string{"-memory", "FILE"}, []serverStep{
		{"tool", "create_entities", map[string]any{"entities": []any{entity("Ada", "person"), entity("London", "city")}}},
		{"tool", "create_relations", map[string]any{"relations": []any{map[string]any{"from": "Ada", "to": "London", "relationType": "lives in"}}}},
		{"tool", "add_observations", map[string]any{"observations": []any{map[string]any{"entityName": "Ada", "contents": []any{"größe"}, "observations": []any{}}}}},
		{"tool", "search_nodes", map[string]any{"query": "Ada"}},
		{"tool", "open_nodes", map[string]any{"names": []any{"London"}}},
		{"tool", "delete_entities", map[string]any{"entityNames": []any{"London"}}},
		{"tool", "read_graph", nil},
	}},
	{sdkExamples + "sequentialthinking", nil, []serverStep{
		{"uri", "thinking://sessions", nil},
		{"tool", "start_thinking", map[string]any{"problem": "why", "sessionId": "one", "estimatedSteps": 2}},
		{"tool", "review_thinking", map[string]any{"sessionId": "none"}},
	}},
	{sdkExamples + "toolschemas", nil, []serverStep{
		{"tool", "simple greeting", map[string]any{"name": "x"}},
		{"tool", "manual greeting", map[string]any{"name": "x"}},
		{"tool", "unvalidated greeting", map[string]any{"user": "x"}},
		{"tool", "customized greeting 1", map[string]any{"name": "x"}},
		{"tool", "customized greeting 2", map[string]any{"name": "x"}},
	}},
	{sdkExamples + "custom-transport", nil, []serverStep{
		{"tool", "greet", map[string]any{"name": "x"}},
	}},
	{mcpgoExamples + "everything", nil, []serverStep{
		{"tool", "echo", map[string]any{"message": "größe"}},
		{"tool", "add", map[string]any{"a": 1, "b": 2.5}},
		{"tool", "longRunningOperation", map[string]any{"duration": 0.1, "steps": 3}},
		{"quiet", "longRunningOperation", map[string]any{"duration": 0.1, "steps": 2}},
		{"tool", "getTinyImage", nil},
		{"tool", "get_resource_link", map[string]any{"resource_type": "x"}},
		{"prompt", "simple_prompt", nil},
		{"prompt", "complex_prompt", map[string]any{"temperature": "1", "style": "formal"}},
		{"uri", "test://static/resource", nil}, {"uri", "test://static/resource/7", nil}, {"uri", "test://static/resource/8", nil}, {"uri", "test://dynamic/resource/9", nil},
		{"complete", "complex_prompt", map[string]any{"style": "c"}},
	}},
	{mcpgoExamples + "sampling_server", nil, []serverStep{
		{"tool", "ask_llm", map[string]any{"question": "why?"}},
		{"tool", "greet", map[string]any{"name": "x"}},
	}},
	{rmcpServer, nil, []serverStep{
		{"tool", "sum", map[string]any{"a": 2, "b": -3}},
		{"tool", "sum", map[string]any{"a": 1 << 62, "b": 1 << 62}}, // an error of the server
		{"tool", "increment", nil},
	}},
}

func entity(name, kind string) map[string]any {
	return map[string]any{"name": name, "entityType": kind, "observations": []any{"known"}}
}

// clientOf starts a server with a client of one SDK, and returns a function that makes it send a request.
type clientOf func(t *testing.T, version string, server *exec.Cmd, wire *transcript) (send func(serverStep) error)

var serverClients = map[string]clientOf{
	"go":         goClient,
	"typescript": scriptClient("clients/node_modules/.bin/node", "servers.mjs"),
	"python":     scriptClient("mcp/bin/python", "servers.py"),
}

// TestServers_equalTheirNativeSelves compares the messages that a client receives: natively in the era that the server
// speaks, and from the same server as a plugin in both.
func TestServers_equalTheirNativeSelves(t *testing.T) {
	for _, server := range wholeServers {
		t.Run(strings.NewReplacer(sdkExamples, "sdk-", mcpgoExamples, "mcp-go-", "testdata/", "").Replace(server.pkg), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			line := server.line(home)
			dir, native := server.build(t, line)
			config := fmt.Sprintf("plugins: {%s: {grants: [roots, elicitation, {sampling: {calls: 3, tokens: 10000}}, 'fs: write %s/**']}}", server.name(), home)
			for name, client := range serverClients {
				want := server.converse(t, client, "2025-11-25", home, exec.Command(native, line...), "")
				for _, version := range eras() {
					got := server.converse(t, client, version, home, program(t, config, "serve", dir), server.name()+"-")
					for i, step := range server.allSteps() {
						if got[i] != want[i] || want[i] == "" {
							t.Errorf("%s %s %+v:\n     got %.1500s\nnatively %.1500s", name, version, step, got[i], want[i])
						}
					}
				}
			}
		})
	}
}

// allSteps are the steps of the server, behind its lists.
func (s wholeServer) allSteps() []serverStep {
	return append([]serverStep{{Kind: "lists"}}, s.steps...)
}

// converse takes all steps with a server that has kept nothing yet, and returns the messages of each.
func (s wholeServer) converse(t *testing.T, client clientOf, version, home string, server *exec.Cmd, prefix string) (all []string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(home, "file")); err != nil {
		t.Fatal(err)
	}
	wire := &transcript{prefix: prefix}
	send := client(t, version, server, wire)
	wire.take()
	for _, step := range s.allSteps() {
		sent := step
		if prefix != "" && step.Kind != "uri" {
			sent.Name = prefix + publicName(step.Name)
		}
		err := send(sent)
		lines := wire.take()
		if step.Kind == "lists" { // in any order, and on any number of pages
			lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "entry ") })
			slices.Sort(lines)
		}
		all = append(all, strings.Join(lines, "\n"))
		if err != nil && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "error ") }) {
			t.Errorf("%s %+v: got %v of the client, want an answer", version, step, err)
		}
	}
	return all
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
	if s.pkg == rmcpServer {
		return buildRmcp(t)
	}
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
	old := time.Now().Add(-time.Hour) // lists do not wait for files that may be being written
	if err := os.Chtimes(file+".wasm", old, old); err != nil {
		t.Fatal(err)
	}
	if out, err := program(t, "", "compile", dir).CombinedOutput(); err != nil {
		t.Fatalf("compile: got %v %s, want success", err, out)
	}
	return dir, native
}

// buildRmcp puts the committed build of the server in Rust into a plugin folder, and builds it natively.
func buildRmcp(t *testing.T) (dir, native string) {
	t.Helper()
	source, err := filepath.Abs(filepath.Dir(rmcpServer))
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(filepath.Join(source, "counter.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	dir, out := t.TempDir(), t.TempDir()
	put(t, filepath.Join(dir, "counter.wasm"), wasm)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "counter.wasm"), old, old); err != nil {
		t.Fatal(err)
	}
	do(t, source, []string{"CARGO_TARGET_DIR=" + out}, "cargo", "build", "--quiet", "--locked")
	return dir, filepath.Join(out, "debug", "counter")
}

// goClient is the client of the official Go SDK, with a model, a user and roots.
func goClient(t *testing.T, version string, server *exec.Cmd, wire *transcript) func(serverStep) error {
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
	s, err := client.Connect(t.Context(), recorded{commandTransport(server), wire}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return func(step serverStep) error {
		if step.Kind == "lists" {
			return list(t.Context(), s, version)
		}
		return step.send(t.Context(), s)
	}
}

// list reads all lists, and asks a server of the older era for its log.
func list(ctx context.Context, s *mcp.ClientSession, version string) (err error) {
	has := s.InitializeResult().Capabilities
	if has.Tools != nil {
		for _, e := range s.Tools(ctx, nil) {
			err = errors.Join(err, e)
		}
	}
	if has.Prompts != nil {
		for _, e := range s.Prompts(ctx, nil) {
			err = errors.Join(err, e)
		}
	}
	if has.Resources != nil {
		for _, e := range s.Resources(ctx, nil) {
			err = errors.Join(err, e)
		}
		for _, e := range s.ResourceTemplates(ctx, nil) {
			err = errors.Join(err, e)
		}
	}
	if has.Logging != nil && version == "2025-11-25" {
		err = errors.Join(err, s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}))
	}
	return err
}

// send sends the request of a step.
func (step serverStep) send(ctx context.Context, s *mcp.ClientSession) (err error) {
	text := map[string]string{}
	for key, value := range step.Args {
		text[key], _ = value.(string)
	}
	switch step.Kind {
	case "tool", "quiet":
		meta := mcp.Meta{"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
		if step.Kind == "quiet" {
			delete(meta, "progressToken")
		}
		_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: step.Name, Arguments: step.Args, Meta: meta})
	case "prompt":
		_, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: step.Name, Arguments: text})
	case "uri":
		_, err = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: step.Name})
	case "complete":
		for key, value := range text {
			_, err = s.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: step.Name},
				Argument: mcp.CompleteParamsArgument{Name: key, Value: value}})
		}
	}
	return err
}

// publicName returns the name of an entry as the host writes it behind the name of the plugin.
func publicName(name string) string {
	return regexp.MustCompile(`[^A-Za-z0-9_-]`).ReplaceAllString(name, "_")
}

// recorded is a transport whose received messages are recorded.
type recorded struct {
	mcp.Transport
	wire *transcript
}

// Connect implements mcp.Transport.
func (r recorded) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := r.Transport.Connect(ctx)
	return &recordedConnection{conn, r.wire}, err
}

type recordedConnection struct {
	mcp.Connection
	wire *transcript
}

// Read implements mcp.Connection.
func (c *recordedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		var raw []byte
		raw, err = jsonrpc.EncodeMessage(m)
		c.wire.receive(raw)
	}
	return m, err
}

// scriptClient is a client in testdata/clients, run by a program below build. The messages of the server are recorded
// in a file before the client receives them; some clients start the server twice.
func scriptClient(runner, script string) clientOf {
	return func(t *testing.T, version string, server *exec.Cmd, wire *transcript) func(serverStep) error {
		t.Helper()
		build, err := filepath.Abs(filepath.Join("..", "..", "build"))
		if err != nil {
			t.Fatal(err)
		}
		record := filepath.Join(t.TempDir(), "received")
		env := map[string]string{"PATH": os.Getenv("PATH")}
		for _, e := range server.Env {
			key, value, _ := strings.Cut(e, "=")
			env[key] = value
		}
		spec, err := json.Marshal(map[string]any{
			"version": version, "packages": filepath.Join(build, "clients", "node_modules") + "/", "env": env, "command": "sh",
			"args": append([]string{"-c", `file=$1; shift; "$@" | tee /dev/fd/4 4>&1 >>"$file" | cat`, "sh", record, server.Path}, server.Args[1:]...),
		})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(build, runner), filepath.Join("testdata", "clients", script))
		cmd.Env = append(os.Environ(), "SALLYPORT_CLIENT="+string(spec))
		cmd.Stderr = &lockedBuffer{}
		stdin, err := cmd.StdinPipe()
		stdout, other := cmd.StdoutPipe()
		if err = errors.Join(err, other, cmd.Start()); err != nil {
			t.Fatalf("got %v, want a client that make servers installs", err)
		}
		t.Cleanup(func() {
			_ = stdin.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: got %v, want it ended: %s", script, err, cmd.Stderr)
			}
		})
		answers, read := bufio.NewScanner(stdout), 0
		answered := func() error {
			text := ""
			if !answers.Scan() || json.Unmarshal(answers.Bytes(), &text) != nil {
				t.Fatalf("%s: got %q and %v, want its answer: %s", script, answers.Text(), answers.Err(), cmd.Stderr)
			}
			raw, err := os.ReadFile(record)
			for line := range bytes.Lines(raw[read:]) {
				wire.receive(line)
			}
			read = len(raw)
			if text != "" {
				err = errors.Join(err, errors.New(text))
			}
			return err
		}
		if err := answered(); err != nil {
			t.Fatal(err)
		}
		return func(step serverStep) error {
			if err := json.NewEncoder(stdin).Encode(step); err != nil {
				return err
			}
			return answered()
		}
	}
}

// transcript records the messages that a client receives, in a form that is the same in both eras.
type transcript struct {
	prefix string // of the names of a plugin's entries; "" natively

	mu    sync.Mutex
	lines []string
}

// receive records a message.
func (w *transcript) receive(raw []byte) {
	var m struct {
		Method         string
		Params, Result json.RawMessage
		Error          *jsonrpc.Error
	}
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case m.Method != "":
		w.request(m.Method, m.Params)
	case m.Error != nil:
		w.lines = append(w.lines, "error "+m.Error.Error())
	default:
		w.result(m.Result)
	}
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

// result records a result, and the entries of a list each by itself. A result that asks for input stands for the
// requests in it.
func (w *transcript) result(raw json.RawMessage) {
	var r struct {
		Tools, Prompts, Resources, ResourceTemplates []map[string]any
		InputRequests                                map[string]struct {
			Method string
			Params json.RawMessage
		}
	}
	_ = json.Unmarshal(raw, &r)
	for _, list := range [][]map[string]any{r.Tools, r.Prompts} {
		for _, entry := range list {
			name, _ := entry["name"].(string)
			if own, ok := strings.CutPrefix(name, w.prefix); ok {
				entry["name"] = publicName(own)
				w.entry(entry)
			}
		}
	}
	for _, entry := range slices.Concat(r.Resources, r.ResourceTemplates) {
		if uri, _ := entry["uri"].(string); !strings.HasPrefix(uri, "sallyport:") {
			w.entry(entry)
		}
	}
	for _, asked := range r.InputRequests {
		w.request(asked.Method, asked.Params)
	}
	if r.InputRequests == nil {
		w.lines = append(w.lines, "result "+plain(raw))
	}
}

func (w *transcript) entry(entry map[string]any) {
	raw, _ := json.Marshal(entry)
	w.lines = append(w.lines, "entry "+plain(raw))
}

func (w *transcript) take() (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines, w.lines = w.lines, nil
	return lines
}
