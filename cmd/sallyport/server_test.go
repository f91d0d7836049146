//lint:file-ignore SA1019 roots are deprecated by the newest revision, and served all the same

//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin"
)

// badServer builds testdata/server with a misbehaviour of its handshake, "" for none, and returns its plugin folder.
func badServer(t *testing.T, handshake string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X main.handshake="+handshake, "-o", filepath.Join(dir, "server.wasm"), "./testdata/server")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return dir
}

func TestServer_answersExactlyWhenItMisbehaves(t *testing.T) {
	t.Parallel()
	s := connect(t, "plugins: {server: {limits: {deadline: 20s}}}", badServer(t, ""))
	for _, c := range []struct{ tool, kind, want string }{
		{"count", "", "1"},
		{"count", "", "1"},
		{"chatty", "", "the first answer"},
		{"huge", "limit", "server-huge: a message of the server is over the limit of 8388608 bytes (limits.output)"},
		{"ungranted", "", `"q"{"code":-32000,"message":"plugin \"server\" may not `},
		{"ungranted", "", `"r"{"code":-32601,"message":"this client serves no server/made-up"}`},
		{"flood", "limit", "server-flood: the server wrote over 10000 messages in one call"},
		{"deaf", "limit", "server-deaf: the server reads none of the messages that it is sent: over 67108864 bytes wait"},
		{"die", "exit", "server-die: the server exited with code 7 before it answered tools/call"},
		{"die", "exit", "the disk is on fire"},
		{"binary", "", "after the bytes"},
		{"half", "guest", "server-half: the server's response to tools/call is not valid UTF-8"},
		{"batch", "", "alone"},
		{"panic", "exit", "server-panic: the server exited with code 2 before it answered tools/call"},
		{"scalar", "guest", "server-scalar: the server's result of tools/call is not an object"},
		{"count", "", "1"},
	} {
		r := call(t, s, "server-"+c.tool, nil)
		if kind := kindOf(r); kind != c.kind || !strings.Contains(text(r), c.want) {
			t.Errorf("%s: got %q %.300s, want %q %s", c.tool, kind, text(r), c.kind, c.want)
		}
	}
	if r := call(t, s, "server-die", nil); exitCodeOf(r) != 7 {
		t.Errorf("die: got exit code %d, want 7", exitCodeOf(r))
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "server-refuse"}); err == nil || !strings.Contains(err.Error(), "not like this") {
		t.Errorf("refuse: got %v, want the server's error", err)
	}
}

// imageTime begins the time in the image of a server: its clock stands still while the image is made.
const imageTime = "2026-01-01T00:00:0"

// All calls begin behind one handshake, if the start of the server has no effect that belongs to its calls.
func TestServer_callsBeginBehindTheHandshake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		handshake, config, wants string
		image                    bool
	}{
		{"", "", "", true},
		{"", "{server: {state: fresh}}", "", false},
		{"deaf", "", "", true}, // to pings
		{"random", "", "", false},
		{"asks", "", "", false},
		{"file", "", "", true}, // without a grant there are no files
		{"file", "{server: {grants: [fs: read " + t.TempDir() + "/**]}}", "", false},
		{"file", "{server: {grants: [{net: GET https://a.example/**, ask: true}]}}", "", true}, // an answer grants no files
		{"file", "", "net: GET https://a.example/**", true},
		{"file", "", "fs: read /workspace/**", false},
		{"folder", "", "", true}, // the working directory is there in each call
		{"folder", "{server: {grants: [fs: read " + t.TempDir() + "/**]}}", "", false},
	} {
		t.Run(c.handshake+c.config+c.wants, func(t *testing.T) {
			dir := badServer(t, c.handshake)
			if c.wants != "" {
				described(t, dir, "server: {}\nwants: ["+c.wants+"]\n")
			}
			s := connect(t, "plugins: "+c.config, dir)
			var early []string
			for range 3 {
				got := text(call(t, s, "server-born", nil))
				if image := strings.HasPrefix(got, imageTime); image != c.image {
					t.Errorf("got a server of %s, want %v that it is that of the image", got, c.image)
				}
				early = append(early, got[strings.IndexByte(got, ' '):])
				if got := text(call(t, s, "server-count", nil)); got != "1" {
					t.Errorf("count: got %s, want 1 in each call", got)
				}
			}
			if c.handshake == "random" && (early[0] == early[1] || early[1] == early[2]) {
				t.Errorf("got random numbers %q, want different ones", early)
			}
		})
	}
}

// A server of the official SDK of Rust, as it was built from its source, is a plugin.
func TestServer_ofTheRustSDKAnswers(t *testing.T) {
	source := filepath.Join("testdata", "rmcp")
	sums, err := os.ReadFile(filepath.Join(source, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"Cargo.toml", "Cargo.lock", "src/main.rs", "counter.wasm"} {
		raw, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(name)))
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(raw), name); err != nil || !strings.Contains(string(sums), want) {
			t.Errorf("%s: got other contents than SHA256SUMS, %v, want the same: run make rmcp-guest", name, err)
		}
		if name == "counter.wasm" {
			put(t, filepath.Join(dir, name), raw)
		}
	}
	s := connect(t, "", dir)
	for range 2 {
		if got := text(call(t, s, "counter-increment", nil)); got != "1" {
			t.Errorf("increment: got %s, want 1 in each call", got)
		}
	}
	if got := text(call(t, s, "counter-sum", map[string]any{"a": 2, "b": -3})); got != "-1" {
		t.Errorf("sum: got %s, want -1", got)
	}
}

// What a server makes on its first call is in its image, if none of its answers shows that it was called.
func TestServer_rehearsesToolsThatKeepNothing(t *testing.T) {
	t.Parallel()
	for handshake, rehearsed := range map[string]bool{
		"cache": true,
		"state": false,
		"waits": true,
	} {
		t.Run(handshake, func(t *testing.T) {
			s := connect(t, "", badServer(t, handshake))
			for range 2 {
				r := call(t, s, "server-lookup", nil)
				fuel := r.Meta["dev.sallyport/receipt"].(map[string]any)["fuel"].(float64)
				if text(r) != "25" || (fuel < 20_000_000) != rehearsed {
					t.Errorf("got %s with %.0f units of fuel, want 25, and %v that the table was there", text(r), fuel, rehearsed)
				}
			}
			if handshake == "state" {
				if got := text(call(t, s, "server-count", nil)); got != "1" {
					t.Errorf("count: got %s, want 1: no earlier call", got)
				}
			}
		})
	}
}

func TestServer_reportsProgressToItsCaller(t *testing.T) {
	told := make(chan *mcp.ProgressNotificationParams, 8)
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params }}
	s := session(t, commandTransport(program(t, "", "serve", badServer(t, ""))), o)
	params := &mcp.CallToolParams{Name: "server-progress"}
	params.SetProgressToken("the caller's")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	got := <-told
	if got.ProgressToken != "the caller's" || got.Progress != 2 || got.Total != 3 || got.Message != "found" {
		t.Errorf("got %+v, want progress 2 of 3 with the caller's token", got)
	}
}

// A guest that was not compiled by Go has blocking streams.
func TestServer_readsBlockingInput(t *testing.T) {
	dir := badServer(t, "")
	file := filepath.Join(dir, "server.wasm")
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = wasmbin.SetCustomSection(wasm, wasmbin.ProducersSection, []byte("unknown")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, wasm, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := text(call(t, connect(t, "", dir), "server-count", nil)); got != "1" {
		t.Errorf("got %q, want 1", got)
	}
}

// waitingServer returns a session with the server that misbehaves, and a function that cancels a call which waits for
// input in it: the server reports progress before it waits.
func waitingServer(t *testing.T, config string) (s *mcp.ClientSession, cancelWaiting func()) {
	t.Helper()
	waits := make(chan struct{}, 1)
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { waits <- struct{}{} }}
	s = session(t, commandTransport(program(t, config, "serve", badServer(t, ""))), o)
	return s, func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			params := &mcp.CallToolParams{Name: "server-hang"}
			params.SetProgressToken("waits")
			_, err := s.CallTool(ctx, params)
			ended <- err
		}()
		<-waits
		cancel()
		if err := <-ended; err == nil {
			t.Error("got a result of a cancelled call, want an error")
		}
	}
}

func TestServer_isCancelledWhileItWaits(t *testing.T) {
	s, cancelWaiting := waitingServer(t, "")
	call(t, s, "server-count", nil) // compiled
	cancelWaiting()
	if got := text(call(t, s, "server-count", nil)); got != "1" {
		t.Errorf("after a cancelled call: got %q, want 1", got)
	}
}

func TestServer_withABadHandshakeIsRefused(t *testing.T) {
	t.Parallel()
	for handshake, want := range map[string]string{
		"exit1":    "the server exited with code 1 before it answered initialize: usage: server FILE",
		"exit3":    "the server exited with code 3 before it answered initialize: usage: server FILE",
		"exit127":  "the server exited with code 127 before it answered initialize: usage: server FILE",
		"silent":   "the server waits for more input, and has not answered initialize",
		"garbage":  "the server waits for more input, and has not answered initialize",
		"wrongids": "the server waits for more input, and has not answered initialize",
		"huge":     "the server exited with code 2 before it answered initialize, after it was refused more than 256 MiB of memory, which no setting changes",
		"refusal":  "the server cannot be used: it refused initialize with error -32022: not this version",
		"version":  `the server cannot be used: it speaks protocol version "1999-12-31"; known are 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05`,
		"signals":  "the program waits for signals (signal.Notify), which Go on WASI does by yielding without an end, and so it never reads its input",
		"pages":    `the server's result of tools/list repeats the cursor "0"`,
	} {
		t.Run(handshake, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(badServer(t, handshake), "server.wasm")
			out, err := program(t, "", "inspect", file).CombinedOutput()
			got := strings.Join(strings.Fields(string(out)), " ")
			if err == nil || !strings.Contains(got, want) {
				t.Errorf("got %v %s, want %s", err, got, want)
			}
			if both := "sallyport wrap " + file + " writes a first one; and it is no MCP server"; handshake != "pages" && handshake != "signals" && !strings.Contains(got, both) {
				t.Errorf("got %s, want %s", got, both)
			}
		})
	}
}

// A server that needs more memory than a call has is loaded, and has it by its settings.
func TestServer_takesMemoryByItsSettings(t *testing.T) {
	t.Parallel()
	dir := badServer(t, "large")
	for config, want := range map[string]string{
		"":                                     "the server exited with code 2 before it answered initialize, after it was refused more than 64 MiB of memory (limits.memory)",
		"{server: {limits: {memory: 256MiB}}}": "1",
	} {
		if got := text(call(t, connect(t, "plugins: "+config, dir), "server-count", nil)); !strings.Contains(got, want) {
			t.Errorf("with %s: got %s, want %s", config, got, want)
		}
	}
}

// sdkServer builds an example server of the official Go SDK, unchanged: for WASI in a plugin folder, and natively.
func sdkServer(t *testing.T, name string) (dir, native string) {
	t.Helper()
	dir, native = t.TempDir(), filepath.Join(t.TempDir(), name)
	for out, env := range map[string][]string{native: nil, filepath.Join(dir, name+".wasm"): {"GOOS=wasip1", "GOARCH=wasm"}} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "github.com/modelcontextprotocol/go-sdk/examples/server/"+name)
		cmd.Env = append(os.Environ(), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return dir, native
}

// compared returns a result as JSON, without what the host adds to it.
func compared(t *testing.T, result any, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"_meta", "ttlMs", "cacheScope", "resultType"} {
		delete(members, key)
	}
	raw, err = json.Marshal(shortened(members))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// shortened cuts the long texts of a value, so that a difference can be read.
func shortened(v any) any {
	switch v := v.(type) {
	case string:
		return v[:min(len(v), 200)]
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key])
		}
	}
	return v
}

// speaking returns a client session with a user who fills in forms, in one version of the protocol.
func speaking(t *testing.T, version string, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"random": "r"}}, nil
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

// The native server can ask its client in the older era only. As a plugin it can in both.
func TestServer_ofTheGoSDKEqualsItsNativeSelf(t *testing.T) {
	t.Parallel()
	dir, native := sdkServer(t, "everything")
	alone := speaking(t, "2025-11-25", commandTransport(exec.Command(native)))
	for _, version := range eras() {
		plugin := speaking(t, version, commandTransport(program(t, "plugins: {everything: {grants: [roots, elicitation]}}", "serve", dir)))
		for _, c := range []struct {
			tool, public string
			args         map[string]any
		}{
			{"greet", "greet", map[string]any{"name": "x"}},
			{"greet (structured)", "greet__structured_", map[string]any{"name": "ö"}},
			{"greet (with Icons)", "greet__with_Icons_", map[string]any{"name": "<>"}},
			{"greet (content with ResourceLink)", "greet__content_with_ResourceLink_", map[string]any{"name": "x"}},
			{"ping", "ping", nil},
			{"log", "log", nil},
			{"roots", "roots", nil},
			{"elicit (form)", "elicit__form_", nil},
		} {
			r, err := plugin.CallTool(t.Context(), &mcp.CallToolParams{Name: "everything-" + c.public, Arguments: c.args})
			got := compared(t, r, err)
			r, err = alone.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
			if want := compared(t, r, err); got != want {
				t.Errorf("%s %s: got %.600s, natively %.600s", version, c.tool, got, want)
			}
		}
		compareReads(t, plugin, alone)
	}
}

// compareReads compares the lists, resources, prompts and completions of two sessions with the everything server.
func compareReads(t *testing.T, plugin, alone *mcp.ClientSession) {
	t.Helper()
	prompts := map[*mcp.ClientSession]string{plugin: "everything-greet", alone: "greet"}
	for name, read := range map[string]func(s *mcp.ClientSession) (any, error){
		"resources/list": func(s *mcp.ClientSession) (any, error) {
			list, err := s.ListResources(t.Context(), nil)
			list.Resources = slices.DeleteFunc(list.Resources, func(r *mcp.Resource) bool { return strings.HasPrefix(r.URI, "sallyport:") })
			return list, err
		},
		"templates": func(s *mcp.ClientSession) (any, error) { return s.ListResourceTemplates(t.Context(), nil) },
		"resources/read": func(s *mcp.ClientSession) (any, error) {
			return s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "embedded:info"})
		},
		"prompts/get": func(s *mcp.ClientSession) (any, error) {
			return s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prompts[s], Arguments: map[string]string{"name": "x"}})
		},
		"completion": func(s *mcp.ClientSession) (any, error) {
			return s.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: prompts[s]}, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "a"}})
		},
	} {
		r, err := read(plugin)
		got := compared(t, r, err)
		r, err = read(alone)
		if want := compared(t, r, err); got != want {
			t.Errorf("%s: got %.600s, natively %.600s", name, got, want)
		}
	}
}

// described puts a tool file beside the server of a folder.
func described(t *testing.T, dir, text string) {
	t.Helper()
	put(t, filepath.Join(dir, "server.tool.yaml"), []byte(text))
}

// The value of a secret is never in the environment, and its placeholder only under a grant.
func TestServer_hasTheCommandLineOfItsToolFile(t *testing.T) {
	dir := badServer(t, "")
	described(t, dir, `server: {args: [stdio, "--x={{a b}}"], env: {TOKEN: "{secret.KEY}", HOST: example.com}}`)
	t.Setenv("KEY", "the value of the key")
	for _, config := range []string{"{config: {HOST: mine}}", "{secret: KEY, to: 'https://api.example.com/**'}"} {
		got := text(call(t, connect(t, "plugins: {server: {grants: ["+config+"]}}", dir), "server-process", nil))
		granted := strings.Contains(config, "secret")
		if !strings.HasPrefix(got, "server stdio --x={a b}\n") || strings.Contains(got, "the value") || strings.Contains(got, "TOKEN=sallyport-") != granted ||
			strings.Contains(got, "HOST=example.com\n") != granted || !strings.Contains(got, "NO_COLOR=1") {
			t.Errorf("%s: got %q, want its command line, the placeholder under its grant, and the operator's HOST over its own", config, got)
		}
	}
	out, err := program(t, "", "inspect", filepath.Join(dir, "server.wasm")).CombinedOutput()
	if want := "a whole MCP server, run as\n    TOKEN='{secret.KEY}' HOST=example.com server stdio '--x={{a b}}'\n"; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("inspect: got %v %s, want %s", err, out, want)
	}
}

func TestServer_changedCommandLineIsAnotherInterface(t *testing.T) {
	dir, state := badServer(t, ""), t.TempDir()
	described(t, dir, "server: {args: [first]}")
	process := func() string {
		s := session(t, &mcp.CommandTransport{Command: program(t, "plugins: {server: {updates: same-interface}}", "serve", dir, "--state", state)}, nil)
		got, _, _ := strings.Cut(text(call(t, s, "server-process", nil)), "\n")
		return got
	}
	if got := process(); got != "server first" {
		t.Fatalf("got %q, want server first", got)
	}
	described(t, dir, "server: {args: [second]}")
	if got := process(); got != "server first" {
		t.Errorf("a changed command line under same-interface: got %q, want server first", got)
	}
}

// A packed server could show one command line for approval, and run another.
func TestServer_packedHasTheCommandLineOfItsToolFile(t *testing.T) {
	dir := badServer(t, "")
	file := filepath.Join(dir, "server.wasm")
	inspect := func(want ...string) {
		t.Helper()
		out, err := program(t, "", "inspect", file).CombinedOutput()
		for _, w := range want {
			if err != nil || !strings.Contains(string(out), w) {
				t.Errorf("got %v %s, want %s", err, out, w)
			}
		}
	}
	described(t, dir, "server: {args: [first]}")
	if out, err := program(t, "", "pack", file).CombinedOutput(); err != nil {
		t.Fatalf("pack: got %v %s, want success", err, out)
	}
	inspect(", packed", "server first")
	described(t, dir, "server: {args: [second]}")
	inspect("not packed", "server second")
	if err := os.Remove(filepath.Join(dir, "server.tool.yaml")); err != nil {
		t.Fatal(err)
	}
	inspect(", packed", "server first")
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = wasmbin.SetCustomSection(wasm, wasmbin.CommandSection, []byte(`{"server":{"args":["third"]}}`)); err != nil {
		t.Fatal(err)
	}
	put(t, file, wasm)
	inspect(", packed", "server third")
}

func TestServer_updatesAndListChangesReachItsClients(t *testing.T) {
	dir := badServer(t, "")
	for _, version := range eras() {
		updated := make(chan string, 8)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		})
		s, err := client.Connect(t.Context(), commandTransport(program(t, "", "serve", dir)), &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://clock"}); err != nil {
			t.Fatal(err)
		}
		if got := text(call(t, s, "server-tick", nil)); got != "ticked" {
			t.Errorf("%s: got %q, want ticked", version, got)
		}
		if got := <-updated; got != "test://clock" {
			t.Errorf("%s: got an update of %q, want test://clock", version, got)
		}
		_ = s.Close()
	}
}
