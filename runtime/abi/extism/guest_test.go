package extism

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// compiled is the code cache of all tests.
var compiled string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "extism-test-*")
	if err != nil {
		panic(err)
	}
	compiled = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // a temporary folder
	os.Exit(code)
}

// built compiles a plugin in testdata, which is a separate module.
func built(t *testing.T, name string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./"+name)
	cmd.Dir = filepath.Join("testdata", "guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: got %v, want no error\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// plugin is a built guest with its pool.
type plugin struct {
	t     *testing.T
	pool  *runtime.Pool
	world *world
}

func open(t *testing.T, name string) *plugin {
	t.Helper()
	wasm := built(t, name)
	b, err := wasmbin.Read(wasm)
	if err != nil || !Recognises(b) {
		t.Fatal(err)
	}
	p, err := pool(t, wasm, New(), runtime.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &plugin{t: t, pool: p, world: newWorld(t, "")}
}

func (p *plugin) ask(method, params string) (string, error) {
	w := newWorld(p.t, "")
	w.config, w.secrets, w.answers, w.web = p.world.config, p.world.secrets, p.world.answers, p.world.web
	result, err := p.pool.Call(context.Background(), runtime.Request{Method: method, Params: json.RawMessage(params)}, w)
	p.world.asked = w.asked
	return string(result), err
}

func (p *plugin) want(method, params, want string) {
	p.t.Helper()
	if got, err := p.ask(method, params); err != nil || got != want {
		p.t.Errorf("%s %s\n%s, %v\nwant %s", method, params, got, err, want)
	}
}

func (p *plugin) wantEnd(method, params string, kind runtime.Kind, text string) {
	p.t.Helper()
	_, err := p.ask(method, params)
	var end *runtime.EndError
	if !errors.As(err, &end) || end.Kind != kind || !strings.Contains(end.Message, text) {
		p.t.Errorf("%s %s: %v, want %s: %s", method, params, err, kind, text)
	}
}

func (p *plugin) wantMissing(method string) {
	p.t.Helper()
	_, err := p.ask(method, "{}")
	var refused *runtime.GuestError
	if !errors.As(err, &refused) || refused.Code != codeMethodNotFound {
		p.t.Errorf("%s: got %v, want code %d", method, err, codeMethodNotFound)
	}
}

func TestServe_servesTheFirstContract(t *testing.T) {
	p := open(t, "v1")
	p.want("plugin/describe", "", `{"tools":[{"name":"echo","description":"says it again","inputSchema":{"type":"object"}}]}`)
	p.want("tools/call", `{"name":"echo","arguments":{"a":1}}`, `{"content":[{"type":"text","text":"{\"a\":1}"}]}`)
	p.want("tools/call", `{"name":"echo"}`, `{"content":[{"type":"text","text":"null"}]}`)
	p.wantEnd("tools/call", `{"name":"fail"}`, runtime.KindGuest, "no such luck")
	p.wantEnd("tools/call", `{"name":"code"}`, runtime.KindGuest, `the guest's "call" ended with code 7`)
	p.wantEnd("tools/call", `{"name":"both"}`, runtime.KindGuest, "an error, and 0")
	p.wantEnd("tools/call", `{"name":"text"}`, runtime.KindGuest, `the output of the guest's "call" is not a JSON object`)
	p.wantEnd("tools/call", `{"name":"silent"}`, runtime.KindGuest, `the guest's "call" gave no output`)
	p.wantEnd("tools/call", `{"name":"large"}`, runtime.KindLimit, "the answer is over the limit of 262144 bytes")
	p.wantEnd("tools/call", `{"name":"panic"}`, runtime.KindTrap, "the guest trapped")
	for _, method := range []string{"resources/read", "prompts/get", "completion/complete", "x"} {
		p.wantMissing(method)
	}
	p.want("tools/call", `{"name":"echo"}`, `{"content":[{"type":"text","text":"null"}]}`) // it still works
}

func TestServe_servesTheSecondContract(t *testing.T) {
	p := open(t, "v2")
	p.want("plugin/describe", "", `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],`+
		`"prompts":[{"name":"greet","arguments":[{"name":"who"}]}],"resources":[{"uri":"demo:a","name":"a"}],`+
		`"resourceTemplates":[{"uriTemplate":"demo:{x}","name":"x"}]}`)
	echo := func(s string) string { q, _ := json.Marshal(s); return string(q) }
	p.want("tools/call", `{"name":"echo","arguments":{},"_meta":{"progressToken":7}}`, `{"content":[{"type":"text","text":`+
		echo(`{"request":{"name":"echo","arguments":{},"_meta":{"progressToken":7}},"context":{"id":1,"_meta":{"progressToken":7}}}`)+`}]}`)
	p.want("resources/read", `{"uri":"demo:a"}`, `{"contents":[{"text":`+
		echo(`{"request":{"uri":"demo:a"},"context":{"id":1,"_meta":{}}}`)+`,"uri":"demo:a"}]}`)
	p.want("prompts/get", `{"name":"greet"}`, `{"messages":[{"content":{"type":"text","text":`+
		echo(`{"request":{"name":"greet"},"context":{"id":1,"_meta":{}}}`)+`},"role":"user"}]}`)
	p.want("completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a"}}`,
		`{"completion":{"values":[`+echo(`{"request":{"ref":{"type":"prompt","name":"greet"},"argument":{"name":"who","value":"a"}},"context":{"id":1,"_meta":{}}}`)+`]}}`)
	p.want("notifications/roots/list_changed", "", "{}")
	if want := `notifications/message {"level":"info","data":"{\"_meta\":{},\"meta\":{},\"context\":{\"_meta\":{}}}"}`; !slices.Contains(p.world.asked, want) {
		t.Errorf("got asked %q, want %s in it", p.world.asked, want)
	}
	p.wantMissing("x")
}

// A denial is answered as hyper-mcp's contract provides.
func TestUser_answersDenialsAsTheContractSays(t *testing.T) {
	p := open(t, "v2")
	p.want("tools/call", `{"name":"ask"}`, `{"content":[{"type":"text","text":"[\"{\\\"action\\\":\\\"decline\\\"}\",\"{\\\"roots\\\":[]}\",\"\",\"null\"]"}]}`)
	want := []string{
		`notifications/progress {"progressToken":"t","progress":1}`,
		`notifications/message {"level":"info","data":"hello"}`,
		`notifications/resources/updated {"uri":"demo:a"}`,
		`notifications/tools/list_changed`,
		`notifications/message {"level":"warning","data":"a warning"}`,
		`elicitation/create {"message":"?","requestedSchema":{},"mode":"form"}`,
		`roots/list`,
	}
	if !slices.Equal(p.world.asked, want) {
		t.Errorf("asked %q\nwant %q", p.world.asked, want)
	}
	p.wantEnd("tools/call", `{"name":"sample"}`, runtime.KindUnsupported, "sampling/createMessage is not there")
	p.wantEnd("tools/call", `{"name":"fetch"}`, runtime.KindUnsupported, "http/fetch is not there")
}

func TestUser_givesGrantedSecrets(t *testing.T) {
	for _, c := range []struct {
		secrets map[string]string
		want    string // of get_keyring_secret for a/b, and get_access_token
	}{
		{map[string]string{"keyring a/b": "one", "ACCESS_TOKEN": "two"}, `\"one\",\"{\\\"access_token\\\":\\\"two\\\"}\"`},
		{map[string]string{"keyring a/c": "one"}, `\"\",\"null\"`},
		{map[string]string{"keyring a/b": "unset", "ACCESS_TOKEN": "unset"}, `\"\",\"null\"`},
	} {
		p := open(t, "v2")
		p.world.secrets = c.secrets
		p.want("tools/call", `{"name":"ask"}`, `{"content":[{"type":"text","text":"[\"{\\\"action\\\":\\\"decline\\\"}\",\"{\\\"roots\\\":[]}\",`+c.want+`]"}]}`)
	}
}

// Results of the gate reach the guest.
func TestUser_passesResultsToTheGuest(t *testing.T) {
	p := open(t, "v2")
	p.world.answers = map[string]string{"sampling/createMessage": `{"role":"assistant"}`}
	p.world.config = map[string]string{"key": "välue"}
	p.world.web = pages{}
	p.want("tools/call", `{"name":"sample"}`, `{"content":[{"type":"text","text":"{\"role\":\"assistant\"}"}]}`)
	if want := `sampling/createMessage {"messages":[{"role":"user","content":{"type":"text","text":"hi"}},` +
		`{"role":"assistant","content":{"type":"text","text":"ho"}}],"maxTokens":5}`; !slices.Equal(p.world.asked, []string{want}) {
		t.Errorf("got asked %q, want only %s", p.world.asked, want)
	}
	p.want("tools/call", `{"name":"config"}`, `{"content":[{"type":"text","text":"[\"välue\",true,false]"}]}`)
	for range 2 { // no call sees the variables of another
		p.want("tools/call", `{"name":"vars"}`, `{"content":[{"type":"text","text":"[\"\",\"kept\"]"}]}`)
	}
	p.want("tools/call", `{"name":"fetch"}`,
		`{"content":[{"type":"text","text":"[203,\"POST b\",{\"content-type\":\"text/plain\",\"x-two\":\"a,b\"}]"}]}`)
}
