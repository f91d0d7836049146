//lint:file-ignore SA1019 logging is deprecated by the newest revision, and served all the same

package protocol

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	sdkrpc "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// link is the official SDK's transport to a Conn in this process.
type link struct {
	t    *testing.T
	conn *Conn
	out  chan []byte
	once sync.Once
	done chan struct{}
	wg   sync.WaitGroup
}

func (l *link) Connect(context.Context) (mcp.Connection, error) { return l, nil }
func (l *link) SessionID() string                               { return "" }

func (l *link) Read(ctx context.Context) (sdkrpc.Message, error) {
	select {
	case msg := <-l.out:
		return sdkrpc.DecodeMessage(msg)
	case <-l.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *link) Write(_ context.Context, msg sdkrpc.Message) error {
	raw, err := sdkrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	m, err := jsonrpc.Parse(raw)
	if err != nil {
		return err
	}
	if m.IsNotification() {
		l.conn.Handle(context.Background(), &m, l.say)
		return nil
	}
	l.wg.Go(func() { l.say(l.conn.Handle(context.Background(), &m, l.say).Body) })
	return nil
}

func (l *link) say(msg []byte) {
	if msg == nil {
		return
	}
	select {
	case l.out <- msg:
	case <-l.done:
	}
}

func (l *link) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.conn.Close()
		l.wg.Wait()
	})
	return nil
}

// heard are the notifications received by the SDK's client.
type heard struct {
	progress chan *mcp.ProgressNotificationParams
	logs     chan *mcp.LoggingMessageParams
	tools    chan struct{}
	updated  chan string
}

// sdkClient connects the official client to one of our servers, in the era of version.
func sdkClient(t *testing.T, version string) (*mcp.ClientSession, *player, *heard) {
	t.Helper()
	p := &player{t: t}
	p.catalog = newCatalog(t, p.obey)
	p.server = NewServer(p.catalog, &Options{Name: "test", Version: "1", PageSize: 2})
	l := &link{t: t, out: make(chan []byte, 100), done: make(chan struct{})}
	p.conn = p.server.Connect(ConnOptions{Notify: l.say})
	l.conn = p.conn
	h := &heard{make(chan *mcp.ProgressNotificationParams, 9), make(chan *mcp.LoggingMessageParams, 9), make(chan struct{}, 9), make(chan string, 9)}
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { h.progress <- r.Params },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { h.logs <- r.Params },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { h.tools <- struct{}{} },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			h.updated <- r.Params.URI
		},
	})
	session, err := client.Connect(t.Context(), l, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session, p, h
}

func within[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
	}
	return v
}

// TestServer_servesTheOfficialClient uses the official SDK's client in every version it supports.
func TestServer_servesTheOfficialClient(t *testing.T) {
	for _, version := range envelope.Versions() {
		t.Run(version, func(t *testing.T) {
			session, p, h := sdkClient(t, version)
			got := session.InitializeResult()
			if got.ProtocolVersion != version || got.ServerInfo.Name != "test" {
				t.Errorf("got %+v, want version %s of test", got, version)
			}
			t.Run("lists", func(t *testing.T) { sdkLists(t, session) })
			t.Run("calls", func(t *testing.T) { sdkCalls(t, session, h) })
			t.Run("reads", func(t *testing.T) { sdkReads(t, session) })
			t.Run("cancels", func(t *testing.T) { sdkCancels(t, session, p) })
			t.Run("hears", func(t *testing.T) { sdkHears(t, session, p, h) })
		})
	}
}

func sdkLists(t *testing.T, session *mcp.ClientSession) {
	tools, pages := map[string]bool{}, 0
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = true
		pages++
	}
	if len(tools) != 5 || pages != 5 || !tools["t-sum"] {
		t.Errorf("got tools %v, want five on five pages", tools)
	}
	for prompt, err := range session.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(prompt, err)
		}
	}
	resources, err := session.ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) != 2 {
		t.Errorf("got %v, %v, want two resources", resources, err)
	}
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 {
		t.Errorf("got %v, %v, want one template", templates, err)
	}
}

func sdkCalls(t *testing.T, session *mcp.ClientSession, h *heard) {
	meta := mcp.Meta{
		"notify":                           []any{[]any{"notifications/progress", map[string]any{"progress": 1}}, []any{"notifications/message", map[string]any{"level": "error", "data": "d"}}},
		"reply":                            map[string]any{"structuredContent": map[string]any{"n": 1}},
		"io.modelcontextprotocol/logLevel": "info",
	}
	params := &mcp.CallToolParams{Name: "t-typed", Arguments: map[string]any{}, Meta: meta}
	params.SetProgressToken("token")
	result, err := session.CallTool(t.Context(), params)
	if err != nil || result.IsError || len(result.Content) != 1 {
		t.Fatalf("got %+v, %v, want one block", result, err)
	}
	if got := within(t, h.progress); got.ProgressToken != "token" || got.Progress != 1 {
		t.Errorf("got %+v, want progress 1 of token", got)
	}
	if got := within(t, h.logs); got.Level != "error" || got.Data != "d" {
		t.Errorf("got %+v, want the error d", got)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t-sum", Arguments: map[string]any{"a": "x"}}); err != nil || !result.IsError {
		t.Errorf("wrong arguments: got %+v, %v, want a tool error", result, err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing"}); err == nil {
		t.Error("an unknown tool has no error")
	}
}

func sdkReads(t *testing.T, session *mcp.ClientSession) {
	read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://item/7"})
	if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != "hello" {
		t.Errorf("got %+v, %v, want hello", read, err)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://nothing"}); err == nil {
		t.Error("an unknown resource has no error")
	}
	prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "t-args", Arguments: map[string]string{"who": "you"}})
	if err != nil || len(prompt.Messages) != 1 {
		t.Errorf("got %+v, %v, want one message", prompt, err)
	}
	complete, err := session.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "t-args"},
		Argument: mcp.CompleteParamsArgument{Name: "who", Value: "y"},
	})
	if err != nil || len(complete.Completion.Values) != 100 || !complete.Completion.HasMore {
		t.Errorf("got %+v, %v, want 100 values and more", complete, err)
	}
}

// sdkHears checks change notifications: by subscriptions/listen in the modern era, in the session otherwise.
func sdkHears(t *testing.T, session *mcp.ClientSession, p *player, h *heard) {
	const uri = "test://text"
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	say := mcp.Meta{"notify": []any{[]any{"notifications/resources/updated", map[string]any{"uri": uri}}}}
	params := &mcp.CallToolParams{Name: "t-any", Meta: say}
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if got := within(t, h.updated); got != uri {
		t.Errorf("got an update of %s, want one of %s", got, uri)
	}
	addTools(t, p.catalog, p.obey, "new", []string{"x"})
	within(t, h.tools)
	if err := session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uri}); err != nil {
		t.Error(err)
	}
}

func sdkCancels(t *testing.T, session *mcp.ClientSession, p *player) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "t-any", Meta: mcp.Meta{"wait": 60_000}})
	if err == nil {
		t.Error("a cancelled call has no error")
	}
	eventually(t, "no call runs", func() bool {
		p.conn.requests.mu.Lock()
		defer p.conn.requests.mu.Unlock()
		n := 0
		for _, r := range p.conn.requests.byID {
			if r.call.Method != "subscriptions/listen" {
				n++
			}
		}
		return n == 0
	})
}
