package streamable

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
)

func TestModern_mapsErrorsToStatuses(t *testing.T) {
	s := start(t, newFake(), nil)
	for code, status := range map[int]int{
		-32602: 200, // from the application; from the envelope it is 400
		-32601: 200, // from within a method, not for an unknown one
		-32603: 200,
		-32600: 200,
		-32020: 400,
		-32021: 400,
		-32022: 400,
		7:      200,
	} {
		body := modernBody("tools/call", fmt.Sprintf(`"name":"error","arguments":{"code":%d},`, code))
		s.want(fmt.Sprint(code), "POST", body, modernHeaders("tools/call", "error", nil), status, errorBody("1", code, "no"))
	}
}

func TestModern_requiresTheEnvelope(t *testing.T) {
	const (
		version      = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		capabilities = `"io.modelcontextprotocol/clientCapabilities":{}`
	)
	needsVersion := errorBody("1", -32602, `params._meta needs "io.modelcontextprotocol/protocolVersion", a string`)
	needsCapabilities := errorBody("1", -32602, `params._meta needs "io.modelcontextprotocol/clientCapabilities", an object`)
	s := start(t, newFake(), nil)
	for _, test := range []struct{ name, params, want string }{
		{"no params", `null`, ""},
		{"no _meta", `{}`, needsVersion},
		{"empty _meta", `{"_meta":{}}`, needsVersion},
		{"_meta of wrong type", `{"_meta":7}`, needsVersion},
		{"no version", `{"_meta":{` + capabilities + `}}`, needsVersion},
		{"version of wrong type", `{"_meta":{"io.modelcontextprotocol/protocolVersion":1,` + capabilities + `}}`, needsVersion},
		{"no capabilities", `{"_meta":{` + version + `}}`, needsCapabilities},
		{"capabilities of wrong type", `{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}}`, needsCapabilities},
		{"all", `{"_meta":{` + version + `,` + capabilities + `}}`, okBody},
	} {
		body := legacyBody(1, "tools/list", test.params)
		want, status := test.want, 400
		if want == okBody {
			status = 200
		}
		if want == "" {
			want = errorBody("1", -32600, "invalid request: params must be an object or an array")
		}
		s.want(test.name, "POST", body, modernHeaders("tools/list", "", nil), status, want)
	}
	legacy := strings.Replace(modernBody("tools/list", ""), "2026-07-28", "2025-11-25", 1)
	s.want("an old version in _meta", "POST", legacy, modernHeaders("tools/list", "", headers{"Mcp-Protocol-Version": "2025-11-25"}), 400,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2025-11-25"}}}`)
	s.want("two versions", "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", headers{"Mcp-Protocol-Version": "2026-07-28\n2026-07-28"}), 400,
		errorBody("1", -32020, "more than one Mcp-Protocol-Version header"))
}

func TestModern_comparesTheNameHeader(t *testing.T) {
	s := start(t, newFake(), nil)
	missing := errorBody("1", -32020, "the Mcp-Name header is missing")
	hidden := errorBody("1", -32020, "the Mcp-Name header is not visible ASCII, nor proper base64")
	for _, test := range []struct {
		method, params, header string
		want                   string
	}{
		{"resources/read", `"uri":"file:///a",`, "file:///a", okBody},
		{"resources/read", `"uri":"file:///a",`, "file:///A", errorBody("1", -32020, `the Mcp-Name header says "file:///A", params.uri "file:///a"`)},
		{"resources/read", `"uri":"file:///日本",`, "=?base64?ZmlsZTovLy/ml6XmnKw=?=", okBody},
		{"resources/read", `"uri":"file:///日本",`, "file:///日本", hidden},
		{"prompts/get", `"name":"p",`, "-", missing},
		{"prompts/get", `"name":"p",`, "  p\t", okBody},
		{"prompts/get", `"name":" p",`, "=?base64?IHA=?=", okBody},
		{"prompts/get", `"name":"p",`, "=?base64?cA?=", hidden},
		{"prompts/get", `"name":"p",`, "=?base64?cB==?=", hidden}, // nonzero trailing bits
		{"prompts/get", `"name":"p",`, "=?base64?c!==?=", hidden},
		{"prompts/get", `"name":"=?BASE64?cA==?=",`, "=?BASE64?cA==?=", okBody},
		{"prompts/get", `"name":"=?base64?cA==",`, "=?base64?cA==", okBody},
		{"prompts/get", `"name":"",`, "", okBody},
		{"prompts/get", `"name":"p",`, "p\np", errorBody("1", -32020, "more than one Mcp-Name header")},
		{"prompts/get", ``, "-", okBody}, // the method reports it
		{"prompts/get", ``, "p", errorBody("1", -32020, `the Mcp-Name header says "p", and params.name is no string`)},
		{"prompts/get", `"name":7,`, "7", errorBody("1", -32020, `the Mcp-Name header says "7", and params.name is no string`)},
		{"tasks/get", `"taskId":"t",`, "u", errorBody("1", -32020, `the Mcp-Name header says "u", params.taskId "t"`)},
		{"tools/list", ``, "whatever", okBody},
	} {
		status := 400
		if test.want == okBody {
			status = 200
		}
		extra := modernHeaders(test.method, "", headers{"Mcp-Name": test.header})
		s.want(test.method+" "+test.params+" "+test.header, "POST", modernBody(test.method, test.params), extra, status, test.want)
	}
}

func TestModern_comparesParameterHeaders(t *testing.T) {
	f := newFake()
	f.params = []protocol.HeaderParam{
		{Header: "Region", Path: []string{"where", "region"}, Type: "string"},
		{Header: "Count", Path: []string{"count"}, Type: "integer"},
		{Header: "Dry", Path: []string{"dry"}, Type: "boolean"},
	}
	s := start(t, f, nil)
	missing := func(name, path string) string {
		return "the Mcp-Param-" + name + " header is missing, and the argument " + path + " has a value"
	}
	differ := func(name, path string) string {
		return "the Mcp-Param-" + name + " header and the argument " + path + " differ"
	}
	extraValue := func(name, path string) string {
		return "the Mcp-Param-" + name + " header has a value, and the argument " + path + " has none"
	}
	for _, test := range []struct {
		arguments string
		extra     headers
		want      string // error message; "" for a result
	}{
		{`{}`, nil, ""},
		{`{"where":{"region":"eu"}}`, headers{"mcp-param-REGION": "eu"}, ""},
		{`{"where":{"region":"eu"}}`, nil, missing("Region", "where.region")},
		{`{"where":{"region":"eu"}}`, headers{"Mcp-Param-Region": "us"}, differ("Region", "where.region")},
		{`{"where":{"region":"日本"}}`, headers{"Mcp-Param-Region": "=?base64?5pel5pys?="}, ""},
		{`{"where":{"region":"eu"}}`, headers{"Mcp-Param-Region": "=?base64?###?="}, "the Mcp-Param-Region header is not visible ASCII, nor proper base64"},
		{`{"where":{"region":null}}`, nil, ""},
		{`{"where":{"region":null}}`, headers{"Mcp-Param-Region": "eu"}, extraValue("Region", "where.region")},
		{`{"where":7}`, headers{"Mcp-Param-Region": ""}, extraValue("Region", "where.region")},
		{`{"region":"eu"}`, headers{"Mcp-Param-Region": "eu"}, extraValue("Region", "where.region")},
		{`{"where":{"region":{"a":1}}}`, headers{"Mcp-Param-Region": `{"a":1}`}, differ("Region", "where.region")},
		{`{"count":42}`, headers{"Mcp-Param-Count": "42"}, ""},
		{`{"count":42}`, headers{"Mcp-Param-Count": "42.0"}, ""},
		{`{"count":4.2e1}`, headers{"Mcp-Param-Count": "42"}, ""},
		{`{"count":42}`, headers{"Mcp-Param-Count": "43"}, differ("Count", "count")},
		{`{"count":42}`, headers{"Mcp-Param-Count": "0x2a"}, differ("Count", "count")},
		{`{"count":42}`, headers{"Mcp-Param-Count": "NaN"}, differ("Count", "count")},
		{`{"count":42}`, headers{"Mcp-Param-Count": "forty"}, differ("Count", "count")},
		{`{"count":9007199254740993}`, headers{"Mcp-Param-Count": "9007199254740993"}, ""},
		{`{"count":9007199254740993}`, headers{"Mcp-Param-Count": "9007199254740992"}, differ("Count", "count")},
		{`{"count":"42"}`, headers{"Mcp-Param-Count": "42"}, ""}, // the schema reports it
		{`{"dry":true}`, headers{"Mcp-Param-Dry": "true"}, ""},
		{`{"dry":true}`, headers{"Mcp-Param-Dry": "True"}, differ("Dry", "dry")},
		{`{"dry":false}`, headers{"Mcp-Param-Dry": "true"}, differ("Dry", "dry")},
		{`{}`, headers{"Mcp-Param-Unknown": "x"}, ""},
	} {
		name := fmt.Sprintf("%s %v", test.arguments, test.extra)
		body := modernBody("tools/call", `"name":"echo","arguments":`+test.arguments+`,`)
		response, got := s.do("POST", body, modernHeaders("tools/call", "echo", test.extra))
		if test.want == "" {
			if response.StatusCode != 200 || !strings.Contains(got, "result") {
				t.Errorf("%s: got %d %s; want 200, \"result\" in it", name, response.StatusCode, got)
			}
			continue
		}
		if want := errorBody("1", -32020, test.want); response.StatusCode != 400 || got != want {
			t.Errorf("%s:\ngot  %d %s\nwant %s", name, response.StatusCode, got, want)
		}
	}
}

func TestModern_acceptsNotifications(t *testing.T) {
	s := start(t, newFake(), nil)
	body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	s.want("with the method header", "POST", body, modernHeaders("notifications/cancelled", "", nil), 202, "")
	s.want("without", "POST", body, headers{"Mcp-Protocol-Version": "2026-07-28"}, 202, "")
	s.want("with another", "POST", body, modernHeaders("tools/list", "", nil), 400,
		refusedBody(-32020, `the Mcp-Method header says "tools/list", the body "notifications/cancelled"`))
}

func TestModern_connectsOncePerRequest(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	for range 3 {
		s.want("", "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", headers{"Mcp-Session-Id": "ignored"}), 200, okBody)
	}
	if f.connected.Load() != 3 || f.closed.Load() != 3 {
		t.Errorf("%d connected, %d closed", f.connected.Load(), f.closed.Load())
	}
	if got := f.principal(); got != "anonymous" {
		t.Errorf("principal %q", got)
	}
}

func sse(data string) string { return "event: message\ndata: " + data + "\n\n" }

func eventID(id, data string) string { return "event: message\nid: " + id + "\ndata: " + data + "\n\n" }

func priming(id string) string { return "id: " + id + "\nretry: 500\ndata: \n\n" }

func progress(i int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i)
}

// A call without room is 503 with Retry-After in all revisions, as long as nothing was sent.
func TestHandler_answersBusyCallsWithRetryAfter(t *testing.T) {
	s := start(t, newFake(), nil)
	session := headers{"Mcp-Session-Id": s.begin(nil)}
	busy := func(text string) (modern, legacy string) {
		return callBody("busy", text), legacyBody(1, "tools/call", fmt.Sprintf(`{"name":"busy","arguments":{"text":%q}}`, text))
	}
	modern, legacy := busy("")
	want := errorBody("1", jsonrpc.CodeInternal, "no")
	for name, r := range map[string]*http.Response{
		"modern": s.want("modern", "POST", modern, modernHeaders("tools/call", "busy", nil), 503, want),
		"legacy": s.want("legacy", "POST", legacy, session, 503, want),
	} {
		if got := r.Header.Get("Retry-After"); got != "2" {
			t.Errorf("%s: Retry-After %q", name, got)
		}
	}
	spent := strings.ReplaceAll(legacy, `"busy"`, `"quota"`)
	for name, r := range map[string]*http.Response{
		"modern": s.want("modern, quota", "POST", callBody("quota", ""), modernHeaders("tools/call", "quota", nil), 429, want),
		"legacy": s.want("legacy, quota", "POST", spent, session, 429, want),
	} {
		if got := r.Header.Get("Retry-After"); got != "3600" {
			t.Errorf("%s: got Retry-After %q, want an hour", name, got)
		}
	}
	modern, legacy = busy("talk")
	s.want("modern, after it spoke", "POST", modern, modernHeaders("tools/call", "busy", nil), 200,
		sse(progress(0))+sse(progress(1))+sse(want))
	if r, body := s.do("POST", legacy, session); r.StatusCode != 200 || !strings.HasSuffix(body, "data: "+want+"\n\n") {
		t.Errorf("legacy, after it spoke: got %d %s; want 200, %q at its end", r.StatusCode, body, "data: "+want+"\n\n")
	}
}

func TestAnswer_streamsOnlyIfMessagesPrecedeTheResult(t *testing.T) {
	s := start(t, newFake(), nil)
	r := s.want("quiet", "POST", callBody("quiet", ""), modernHeaders("tools/call", "quiet", nil), 200, doneBody)
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type %q", kind)
	}
	r = s.want("talk", "POST", callBody("talk", ""), modernHeaders("tools/call", "talk", nil), 200,
		sse(progress(0))+sse(progress(1))+sse(doneBody))
	for key, want := range map[string]string{
		"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := r.Header.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestAnswer_flushesEachEvent reads the notifications while the call is running.
func TestAnswer_flushesEachEvent(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	s.h.keepAlive = 5 * time.Millisecond
	r, err := http.DefaultClient.Do(s.request(t.Context(), "POST", callBody("wait", "talk"), modernHeaders("tools/call", "wait", nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	in := bufio.NewReader(r.Body)
	s.reads(in, sse(progress(0))+sse(progress(1)))
	for range 2 { // comments while idle
		if line, err := in.ReadString('\n'); line != ":\n" || err != nil {
			t.Fatalf("got %q, %v; want a comment", line, err)
		}
		in.ReadString('\n')
	}
	close(f.release)
	rest, err := io.ReadAll(in)
	if text := strings.ReplaceAll(string(rest), ":\n\n", ""); err != nil || text != sse(doneBody) {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestAnswer_splitsAnEventIntoLines(t *testing.T) {
	s := start(t, newFake(), nil)
	body := modernBody("tools/call", `"name":"echo","arguments":{"text":`+"{\n \"a\":\r\n1}"+`},`)
	s.want("json", "POST", body, modernHeaders("tools/call", "echo", nil), 200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n \"a\":\r\n1}}")

	a := &recorder{header: http.Header{}}
	ans := &answer{x: &exchange{w: a, rc: http.NewResponseController(a), h: &Handler{keepAlive: time.Hour}}}
	ans.send([]byte("{\n\"a\":\r\n1}"))
	ans.finish(&protocol.Response{})
	if want := "event: message\ndata: {\ndata: \"a\":\ndata: 1}\n\n"; a.String() != want {
		t.Errorf("got %q, want %q", a.String(), want)
	}
	ans.send([]byte("late"))
	ans.finish(&protocol.Response{Body: []byte("late")})
	ans.comment()
	if strings.Contains(a.String(), "late") || strings.Contains(a.String(), ":\n\n") {
		t.Errorf("written after the end: %q", a.String())
	}
}

type recorder struct {
	strings.Builder
	header http.Header
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}

func TestModern_disconnectCancels(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	for _, text := range []string{"quiet", "talk"} {
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			r, err := http.DefaultClient.Do(s.request(ctx, "POST", callBody("wait", text), modernHeaders("tools/call", "wait", nil)))
			if err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}()
		receive(t, f.entered)
		leave()
		if err := receive(t, f.left); err != context.Canceled {
			t.Errorf("%s: the call ended with %v", text, err)
		}
		<-gone
	}
}

func TestHandler_closeCancelsCalls(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	go func() {
		receive(t, f.entered)
		s.h.Close()
	}()
	s.want("cancelled", "POST", callBody("wait", ""), modernHeaders("tools/call", "wait", nil), 200, cancelledBody("1", "the server is shutting down"))
	if err := receive(t, f.left); err != context.Canceled {
		t.Errorf("the call ended with %v", err)
	}
	s.want("closed", "POST", callBody("echo", ""), modernHeaders("tools/call", "echo", nil), 503, refused("the server is shutting down"))
}

// TestModern_separatesConcurrentClientsOfOneID runs many clients with the same id, some of which disconnect.
func TestModern_separatesConcurrentClientsOfOneID(t *testing.T) {
	f := newFake()
	s := start(t, f, nil)
	done := make(chan error)
	const clients = 16
	for c := range clients {
		go func() {
			for i := range 50 {
				text := fmt.Sprintf("%d-%d", c, i)
				r, err := http.DefaultClient.Do(s.request(context.Background(), "POST", callBody("echo", text), modernHeaders("tools/call", "echo", nil)))
				if err != nil {
					done <- err
					return
				}
				var m struct{ Result string }
				err = json.NewDecoder(bufio.NewReader(r.Body)).Decode(&m)
				r.Body.Close()
				if err != nil || m.Result != text {
					done <- fmt.Errorf("got %q, %v, want %q", m.Result, err, text)
					return
				}
			}
			done <- nil
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if f.connected.Load() != f.closed.Load() {
		t.Errorf("%d connected, %d closed", f.connected.Load(), f.closed.Load())
	}
}
