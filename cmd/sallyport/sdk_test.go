//lint:file-ignore SA1019 sampling and roots are deprecated by the newest revision, and served all the same

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bareConformance publishes the conformance plugin's tools without a prefix.
const bareConformance = "plugins: {conformance: {prefix: false, grants: [elicitation, {sampling: {calls: 5, tokens: 1000}}, roots]}}\n"

// bundledTools are the tools of the bundled plugins under bareConformance.
const bundledTools = "confirm_delete failing_job fetch-fetch files-edit files-list files-read files-search files-write git-diff " +
	"git-log git-refs git-show greet json_schema_2020_12_tool multi_input protocol_error_job slow_compute " +
	"test_audio_content test_elicitation test_elicitation_sep1034_defaults test_elicitation_sep1330_enums " +
	"test_embedded_resource test_error_handling test_image_content test_input_required_result_capabilities " +
	"test_input_required_result_elicitation test_input_required_result_list_roots " +
	"test_input_required_result_multi_round test_input_required_result_multiple_inputs " +
	"test_input_required_result_request_state test_input_required_result_sampling " +
	"test_input_required_result_tampered_state test_logging_tool test_missing_capability " +
	"test_multiple_content_types test_reconnection test_sampling test_simple_text test_streaming_elicitation " +
	"test_tool_with_logging test_tool_with_progress test_tool_with_task test_trigger_prompt_change " +
	"test_trigger_resource_update test_trigger_tool_change test_x_mcp_header time-add time-convert " +
	"time-difference time-now time-zones"

// allBundled creates a folder with every bundled plugin except some.
func allBundled(t *testing.T, without ...string) string {
	t.Helper()
	var files []string
	for _, name := range []string{"conformance", "fetch", "files", "git", "time"} {
		if !slices.Contains(without, name) {
			files = append(files, bundled(t, name))
		}
	}
	return folder(t, files...)
}

// machineToken returns the local token, which the first server on loopback created.
func machineToken(t *testing.T) string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(sharedState(t), "state", "token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// TestSDK_usesEveryFeature uses the program with the official Go SDK's client, in both eras on both transports.
func TestSDK_usesEveryFeature(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version+"/stdio", func(t *testing.T) {
			t.Parallel()
			dir := allBundled(t)
			cmd := program(t, bareConformance, "serve", dir)
			c := newSDK(t, version, pipes(t, cmd))
			c.use()
			c.hearOfChange(dir)
			c.end(cmd)
		})
		t.Run(version+"/http", func(t *testing.T) {
			t.Parallel()
			dir := allBundled(t)
			url := serveURL(t, bareConformance, dir)
			over := func(token string) mcp.Transport {
				return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}
			}
			c := newSDK(t, version, over(machineToken(t)))
			c.use()
			c.hearOfChange(dir)
			if err := c.session.Close(); err != nil {
				t.Error(err)
			}
			if _, err := c.client.Connect(t.Context(), over("wrong"), nil); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
				t.Errorf("with a wrong token: %v", err)
			}
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

// TestSDK_usesTheOldestHTTP uses the official SDK's client of the oldest HTTP transport.
func TestSDK_usesTheOldestHTTP(t *testing.T) {
	t.Parallel()
	dir := allBundled(t)
	url := strings.TrimSuffix(serveURL(t, bareConformance, dir, "--legacy-sse", "--no-token"), "/mcp") + "/sse"
	c := newSDK(t, "2024-11-05", &mcp.SSEClientTransport{Endpoint: url})
	c.use()
	c.hearOfChange(dir)
	if err := c.session.Close(); err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestSDK_searchesAndCalls uses the two tools that replace the list.
func TestSDK_searchesAndCalls(t *testing.T) {
	t.Parallel()
	c := newSDK(t, "2026-07-28", commandTransport(program(t, bareConformance, "serve", allBundled(t), "--search")))
	if got := c.toolNames(); got != "sallyport-call sallyport-search" {
		t.Errorf("got %v, want %q", got, "sallyport-call sallyport-search")
	}
	found := call(t, c.session, "sallyport-search", map[string]any{"query": "time zone convert", "limit": 1})
	if got := text(found); !strings.HasPrefix(got, `{"tools":[{"name":"time-convert",`) {
		t.Errorf("got %v, want %q at its start", got, `{"tools":[{"name":"time-convert",`)
	}
	inner := map[string]any{"name": "time-now", "arguments": map[string]any{}}
	if got := call(t, c.session, "sallyport-call", inner); got.IsError || got.StructuredContent.(map[string]any)["unix"] == nil {
		t.Errorf("got %+v", got)
	}
	if err := c.session.Close(); err != nil {
		t.Error(err)
	}
}

// sdk is a client of the official SDK with the notifications it received.
type sdk struct {
	*testing.T
	client   *mcp.Client
	session  *mcp.ClientSession
	progress chan *mcp.ProgressNotificationParams
	changed  chan struct{}
	updated  chan string
}

func newSDK(t *testing.T, version string, transport mcp.Transport) *sdk {
	t.Helper()
	c := &sdk{T: t, progress: make(chan *mcp.ProgressNotificationParams, 9), changed: make(chan struct{}, 9), updated: make(chan string, 9)}
	c.client = mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.progress <- r.Params },
		ElicitationHandler:          c.fillIn,
		CreateMessageHandler:        c.complete,
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			c.updated <- r.Params.URI
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} },
	})
	c.client.AddRoots(&mcp.Root{URI: "file:///home/ada", Name: "home"})
	var err error
	if c.session, err = c.client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		t.Fatal(err)
	}
	if got := c.session.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "sallyport" {
		t.Errorf("%s of %v", got.ProtocolVersion, got.ServerInfo)
	}
	return c
}

func (c *sdk) use() {
	c.Helper()
	if got := c.toolNames(); got != bundledTools {
		c.Errorf("tools: %s", got)
	}
	c.callTools()
	c.readAndPrompt()
	c.followProgress()
	c.answer()
	c.hearOfUpdate()
}

// hearOfUpdate subscribes to a resource; the SDK opens a separate listen request in the newest revision.
func (c *sdk) hearOfUpdate() {
	c.Helper()
	const uri = "test://watched-resource"
	if err := c.session.Subscribe(c.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		c.Fatal(err)
	}
	call(c.T, c.session, "test_trigger_resource_update", nil)
	if got := soon(c.T, c.updated); got != uri {
		c.Errorf("%s was updated", got)
	}
	if err := c.session.Unsubscribe(c.Context(), &mcp.UnsubscribeParams{URI: uri}); err != nil {
		c.Error(err)
	}
}

func (c *sdk) toolNames() string {
	c.Helper()
	var names []string
	for tool, err := range c.session.Tools(c.Context(), nil) {
		if err != nil {
			c.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func (c *sdk) callTools() {
	c.Helper()
	convert := map[string]any{"time": "2026-07-01 14:30", "from": "Europe/Berlin", "to": []string{"Asia/Tokyo"}}
	r := call(c.T, c.session, "time-convert", convert)
	to, _ := r.StructuredContent.(map[string]any)["to"].([]any)
	if len(to) != 1 || to[0].(map[string]any)["time"] != "2026-07-01T21:30:00+09:00" {
		c.Errorf("convert: %v", r.StructuredContent)
	}
	before := time.Now().Unix()
	now, _ := call(c.T, c.session, "time-now", nil).StructuredContent.(map[string]any)
	if unix, _ := now["unix"].(float64); int64(unix) < before || int64(unix) > time.Now().Unix() {
		c.Errorf("now: got %v, want the time between call and result", now)
	}
	convert["time"] = 5
	const want = "time-convert: invalid arguments: /time: want string, but got number"
	if r = call(c.T, c.session, "time-convert", convert); !r.IsError || text(r) != want || kindOf(r) != "invalid" {
		c.Errorf("bad arguments: %v %q", r.IsError, text(r))
	}
	_, err := c.session.CallTool(c.Context(), &mcp.CallToolParams{Name: "time-none"})
	if wire := (*jsonrpc.Error)(nil); !errors.As(err, &wire) || wire.Code != -32602 || wire.Message != "unknown tool: time-none" {
		c.Errorf("an unknown tool: %v", err)
	}
}

func (c *sdk) readAndPrompt() {
	c.Helper()
	read, err := c.session.ReadResource(c.Context(), &mcp.ReadResourceParams{URI: "test://template/42/data"})
	if err != nil || read.Contents[0].Text != `{"id":"42","templateTest":true,"data":"Data for ID: 42"}` {
		c.Errorf("read: %+v, %v", read, err)
	}
	prompt, err := c.session.GetPrompt(c.Context(), &mcp.GetPromptParams{
		Name: "test_prompt_with_arguments", Arguments: map[string]string{"arg1": "a", "arg2": "b"},
	})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Prompt with arguments: arg1='a', arg2='b'" {
		c.Errorf("prompt: %+v, %v", prompt, err)
	}
	complete, err := c.session.Complete(c.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
		Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "par"},
	})
	if err != nil || strings.Join(complete.Completion.Values, " ") != "paris park party" {
		c.Errorf("complete: %+v, %v", complete, err)
	}
}

func (c *sdk) followProgress() {
	c.Helper()
	params := &mcp.CallToolParams{Name: "test_tool_with_progress"}
	params.SetProgressToken("token")
	if r, err := c.session.CallTool(c.Context(), params); err != nil || text(r) != "Progress was reported three times." {
		c.Errorf("progress: %+v, %v", r, err)
	}
	for _, want := range []float64{0, 50, 100} {
		if p := soon(c.T, c.progress); p.Progress != want || p.Total != 100 || p.ProgressToken != "token" {
			c.Errorf("progress %+v, want %v", p, want)
		}
	}
}

// fillIn answers elicitations as the user.
func (c *sdk) fillIn(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if !strings.HasPrefix(r.Params.Message, "Plugin conformance asks: ") {
		c.Errorf("a question from nobody: %s", r.Params.Message)
	}
	person := map[string]any{"username": "ada", "email": "ada@example.com", "name": "Ada", "color": "blue"}
	content := map[string]any{}
	for field := range r.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
		content[field] = person[field]
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// complete answers sampling requests as the model.
func (c *sdk) complete(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	prompt := r.Params.Messages[0].Content.(*mcp.TextContent).Text
	return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "to " + prompt}}, nil
}

// answer calls tools that ask: once, several questions at once, and repeatedly.
func (c *sdk) answer() {
	c.Helper()
	for tool, want := range map[string]string{
		"test_sampling":    "LLM response: to you",
		"test_elicitation": `User response: action=accept, content={"username":"ada","email":"ada@example.com"}`,
		"test_input_required_result_multiple_inputs": `to Generate a greeting Ada of [{"uri":"file:///home/ada","name":"home"}]`,
		"test_input_required_result_multi_round":     "Ada likes blue",
	} {
		args := map[string]any{}
		switch tool {
		case "test_sampling":
			args["prompt"] = "you"
		case "test_elicitation":
			args["message"] = "Who?"
		}
		if got := text(call(c.T, c.session, tool, args)); got != want {
			c.Errorf("%s: got %s, want %v", tool, got, want)
		}
	}
}

// hearOfChange removes a plugin from the folder and waits for the notification. There must be none before.
func (c *sdk) hearOfChange(dir string) {
	c.Helper()
	if len(c.changed) > 0 {
		c.Error("a change was told, but nothing changed")
	}
	if err := os.Remove(filepath.Join(dir, "fetch.wasm")); err != nil {
		c.Fatal(err)
	}
	soon(c.T, c.changed)
	if got := c.toolNames(); got != strings.Replace(bundledTools, "fetch-fetch ", "", 1) {
		c.Errorf("tools after the change: %s", got)
	}
}

// pipes starts a program and returns a transport to it that sends no signal at its end, unlike mcp.CommandTransport.
func pipes(t *testing.T, cmd *exec.Cmd) mcp.Transport {
	t.Helper()
	in, out := piped(t, cmd)
	return &mcp.IOTransport{Reader: io.NopCloser(out), Writer: in}
}

// end closes the session; the program must exit by itself.
func (c *sdk) end(cmd *exec.Cmd) {
	c.Helper()
	if err := c.session.Close(); err != nil {
		c.Errorf("close: %v", err)
	}
	wantEnd(c.T, cmd)
}
