//go:build programs && linux

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// githubModule is the version that docs/recipes/github.md builds, which testdata/githubserver pins.
const githubModule = "github.com/github/github-mcp-server"

// githubPage is docs/recipes/github.md, in parts that a person follows in this order.
type githubPage struct{ build, toolFile, config, connect, explain string }

func readGitHubPage(t *testing.T) githubPage {
	t.Helper()
	var blocks []string
	for i, block := range strings.Split(allPages(t, filepath.Join("recipes", "github.md")), "```") {
		if i%2 == 1 {
			_, text, _ := strings.Cut(block, "\n")
			blocks = append(blocks, text)
		}
	}
	if len(blocks) != 5 {
		t.Fatalf("docs/recipes/github.md: got %d blocks, want 5", len(blocks))
	}
	return githubPage{blocks[0], blocks[1], blocks[2], blocks[3], blocks[4]}
}

// githubServer builds the server once for all tests: as the page does in a plugin folder, and natively.
var githubServer = once(func(t *testing.T, _ string) string {
	home := filepath.Join(sharedState(t), "github")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	buildProgram(t, filepath.Join("testdata", "githubserver"), githubModule+"/cmd/github-mcp-server", filepath.Join(home, "native"))
	cmd := shell(t, "", readGitHubPage(t).build)
	cmd.Env = append(cmd.Env, append(goCaches(t), "HOME="+home)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the build of docs/recipes/github.md: got %v %s, want success", err, out)
	}
	return home
})

// shell returns a command that runs lines with sallyport in them. $STATE and $HOME are those of its environment.
func shell(t *testing.T, config, lines string) *exec.Cmd {
	t.Helper()
	full := program(t, config)
	cmd := exec.Command("sh", "-e", "-c", `sallyport() { "$SALLYPORT" "$@" --config "$CONFIG" --state "$STATE"; }; `+lines)
	cmd.Env = append(full.Env, "SALLYPORT="+full.Path, "CONFIG="+full.Args[2], "STATE="+full.Args[4])
	return cmd
}

// githubPlugin returns a plugin folder with the server for a stand-in.
func githubPlugin(t *testing.T, g *githubStandIn) string {
	t.Helper()
	dir := folder(t, filepath.Join(githubServer(t, ""), "plugins", "github.wasm"))
	text := strings.Replace(readGitHubPage(t).toolFile, "[stdio]", "[stdio, --gh-host, 'http://"+g.host+"']", 1)
	if err := os.WriteFile(filepath.Join(dir, "github.tool.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// githubNative returns a command of the native server for a stand-in.
func githubNative(t *testing.T, g *githubStandIn) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(githubServer(t, ""), "native"), "stdio", "--gh-host", "http://"+g.host)
	cmd.Env = append(os.Environ(), "GITHUB_PERSONAL_ACCESS_TOKEN="+githubToken)
	return cmd
}

// githubSession serves the plugin with the grants of the page. asked counts the confirmations; each has that action.
func githubSession(t *testing.T, g *githubStandIn, version string, serve *exec.Cmd, action string) (s *mcp.ClientSession, asked *atomic.Int32) {
	t.Helper()
	serve.Env = append(serve.Env, "GITHUB_TOKEN="+githubToken)
	asked = &atomic.Int32{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if !strings.Contains(r.Params.Message, "http://"+g.host+"/api/") {
				t.Errorf("got the question %q, want it to name the address", r.Params.Message)
			}
			asked.Add(1)
			return &mcp.ElicitResult{Action: action, Content: map[string]any{}}, nil
		},
	})
	s, err := client.Connect(t.Context(), commandTransport(serve), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, asked
}

func TestServers_githubListsWhatItListsNatively(t *testing.T) {
	g := newGitHubStandIn(t)
	want := toolsOf(t, speaking(t, "2025-11-25", commandTransport(githubNative(t, g))), "")
	if len(want) < 40 {
		t.Fatalf("got %d tools natively, want at least 40", len(want))
	}
	dir := githubPlugin(t, g)
	for _, version := range eras() {
		got := toolsOf(t, speaking(t, version, commandTransport(program(t, "", "serve", dir))), "github-")
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				t.Errorf("%s %s: got %.600s, natively %.600s", version, name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %d tools, natively %d", version, len(got), len(want))
		}
	}
}

// toolsOf returns the tools of a session as JSON by name, without a prefix and the host's own keys.
func toolsOf(t *testing.T, s *mcp.ClientSession, prefix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		name, ours := strings.CutPrefix(tool.Name, prefix)
		if !ours {
			continue // of the host
		}
		tool.Name = name
		maps.DeleteFunc(tool.Meta, func(key string, _ any) bool { return strings.HasPrefix(key, "dev.sallyport/") })
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(raw)
	}
	return all
}

// The results are equal, and so are the requests that arrive. The stand-in repeats the token, which the plugin's caller
// does not get.
func TestServers_githubAnswersAsNatively(t *testing.T) {
	g := newGitHubStandIn(t)
	native := speaking(t, "2025-11-25", commandTransport(githubNative(t, g)))
	dir := githubPlugin(t, g)
	for _, version := range eras() {
		plugin, asked := githubSession(t, g, version, program(t, g.addressed(readGitHubPage(t).config), "serve", dir), "accept")
		tools := map[string]bool{}
		for _, c := range slices.Concat(githubReads, githubWrites) {
			tools[c.tool] = true
			r, err := native.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.arguments()})
			want, wantSeen := strings.ReplaceAll(wholeAnswer(t, r, err), githubToken, "[secret:GITHUB_TOKEN]"), g.take()
			asked.Store(0)
			r, err = plugin.CallTool(t.Context(), &mcp.CallToolParams{Name: "github-" + c.tool, Arguments: c.arguments()})
			if got := wholeAnswer(t, r, err); got != want {
				t.Errorf("%s %s: got %.900s, natively %.900s", version, c.tool, got, want)
			}
			seen := g.take()
			if seen != wantSeen {
				t.Errorf("%s %s: got the requests %s, natively %s", version, c.tool, seen, wantSeen)
			}
			if n := changesIn(seen); int(asked.Load()) != n {
				t.Errorf("%s %s: got %d questions, want one for each of %d changes", version, c.tool, asked.Load(), n)
			}
		}
		if len(tools) < 20 {
			t.Errorf("got %d tools, want at least 20", len(tools))
		}
	}
}

// wholeAnswer returns a result as JSON, without the members and the text that the host adds.
func wholeAnswer(t *testing.T, r *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	r.Content = slices.DeleteFunc(r.Content, func(c mcp.Content) bool {
		text, ok := c.(*mcp.TextContent)
		return ok && r.IsError && strings.HasPrefix(text.Text, "refused: ")
	})
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain(raw)
}

// The start of the server takes over 700 million units of fuel, half of which initialize its packages. Set up as the page does, calls
// begin behind it, and with a host of one's own in the middle, where the server asks that host how it is set up.
func TestServers_githubCallsBeginInAnImage(t *testing.T) {
	g, page := newGitHubStandIn(t), readGitHubPage(t)
	dir := folder(t, filepath.Join(githubServer(t, ""), "plugins", "github.wasm"))
	put(t, filepath.Join(dir, "github.tool.yaml"), []byte(page.toolFile))
	for _, c := range []struct {
		dir, config string
		most        float64
	}{
		{dir, page.config, 60_000_000},
		{githubPlugin(t, g), g.addressed(page.config), 500_000_000},
	} {
		s := connect(t, c.config, c.dir)
		for range 2 {
			r := call(t, s, "github-create_repository", map[string]any{"name": "new"})
			if fuel := fuelOf(r); !strings.Contains(text(r), "no grant allows it") || fuel > c.most {
				t.Errorf("got %.300s with %.0f units of fuel, want a refusal of its request with at most %.0f", text(r), fuel, c.most)
			}
		}
	}
}

// The server puts some arguments into the address as they are, so that a commit of octo/hello can be one of
// other/secret.
func TestServers_githubReachesOnlyTheRepositoryOfTheCall(t *testing.T) {
	g := newGitHubStandIn(t)
	args := map[string]any{"owner": "octo", "repo": "hello", "sha": "../../../other/secret/commits/main"}
	native := speaking(t, "2025-11-25", commandTransport(githubNative(t, g)))
	if _, err := native.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_commit", Arguments: args}); err != nil {
		t.Fatal(err)
	}
	const other = "/api/v3/repos/other/secret/commits/main"
	if seen := g.take(); !strings.Contains(seen, "GET|"+other) {
		t.Fatalf("natively: got the requests %q, want one to %s", seen, other)
	}
	dir := githubPlugin(t, g)
	for _, version := range eras() {
		s, _ := githubSession(t, g, version, program(t, g.addressed(readGitHubPage(t).config), "serve", dir), "accept")
		r := call(t, s, "github-get_commit", args)
		if !r.IsError || !strings.Contains(text(r), `may not GET http://`+g.host+other) || !strings.Contains(text(r), "no grant allows it") {
			t.Errorf("%s: got %s, want a refusal of another repository", version, text(r))
		}
		if seen := g.take(); seen != "" {
			t.Errorf("%s: got the requests %q, want none", version, seen)
		}
		r = call(t, s, "github-create_repository", map[string]any{"name": "new"})
		if !r.IsError || !strings.Contains(text(r), "net: POST http://"+g.host+"/api/v3/user/repos") || g.take() != "" {
			t.Errorf("%s: got %s, want a refusal with its line", version, text(r))
		}
	}
}

func TestServers_githubChangesNothingThatIsDeclined(t *testing.T) {
	g := newGitHubStandIn(t)
	dir := githubPlugin(t, g)
	for _, version := range eras() {
		s, asked := githubSession(t, g, version, program(t, g.addressed(readGitHubPage(t).config), "serve", dir), "decline")
		for _, c := range githubWrites {
			asked.Store(0)
			r := call(t, s, "github-"+c.tool, c.arguments())
			if seen := g.take(); !r.IsError || changesIn(seen) != 0 || asked.Load() != 1 {
				t.Errorf("%s %s: got %d questions, %s and the requests %q, want one question and no change", version, c.tool, asked.Load(), text(r), seen)
			}
		}
	}
}

// The token is nowhere but in the host and in the requests: not in the memory of the guest, while and after responses
// repeat it, nor in results, the log and the state folder.
func TestServers_githubTokenIsNowhereInTheSandbox(t *testing.T) {
	g := newGitHubStandIn(t)
	dir := githubPlugin(t, g)
	state := compiledState(t, dir)
	serve := program(t, g.addressed(readGitHubPage(t).config), "serve", dir)
	ownState(serve, state)
	var log lockedBuffer
	serve.Stderr = &log
	s, _ := githubSession(t, g, "2026-07-28", serve, "accept")
	scans := 0
	g.during = func() { // the guest waits for its second response
		scans++
		memory := guestMemory(t, serve.Process.Pid)
		for _, known := range []string{"sallyport-", "find me in the memory"} {
			if !bytes.Contains(memory, []byte(known)) {
				t.Errorf("the memory of the guest, %d bytes: got no %q, want the scan to find it", len(memory), known)
			}
		}
		tokenFree(t, "the memory of the guest", memory)
	}
	for _, c := range []githubCall{
		{"get_me", nil},
		{"create_or_update_file", map[string]any{"path": "new.txt", "content": "find me in the memory", "message": "add", "branch": "main"}},
	} {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "github-" + c.tool, Arguments: c.arguments()})
		raw, _ := json.Marshal(r)
		if err != nil || r.IsError {
			t.Fatalf("%s: got %s %v, want success", c.tool, raw, err)
		}
		tokenFree(t, "the result of "+c.tool, raw)
	}
	if scans == 0 {
		t.Error("got no scan of the memory, want one")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tokenFree(t, "the log", []byte(log.String()))
	kept := stateBytes(t, state)
	if !bytes.Contains(kept, []byte("create_or_update_file")) {
		t.Error("the state folder: got no record of the call, want the scan to find it")
	}
	tokenFree(t, "the state folder", kept)
}

// tokenFree reports the token in bytes, plain or encoded.
func tokenFree(t *testing.T, where string, p []byte) {
	t.Helper()
	for _, form := range []string{githubToken, hex.EncodeToString([]byte(githubToken)), base64.StdEncoding.EncodeToString([]byte(githubToken))[:40]} {
		if bytes.Contains(p, []byte(form)) {
			t.Errorf("%s: got the token as %s, want it nowhere", where, form)
		}
	}
}

// guestMemory returns the memories of the guests of a process: the writable mappings of images, and the memory behind them.
func guestMemory(t *testing.T, pid int) (all []byte) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Error(err)
		return nil
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Error(err)
		return nil
	}
	defer mem.Close()
	guest := uint64(0) // the end of the guest's mapping before
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		from, to, _ := strings.Cut(f[0], "-")
		begin, _ := strconv.ParseUint(from, 16, 64)
		end, _ := strconv.ParseUint(to, 16, 64)
		image := strings.Contains(line, "memfd:sallyport-image")
		if !strings.HasPrefix(f[1], "rw") || !image && (begin != guest || len(f) > 5) {
			continue
		}
		guest = end
		p := make([]byte, end-begin)
		n, _ := mem.ReadAt(p, int64(begin))
		all = append(all, bytes.TrimRight(p[:n], "\x00")...)
	}
	return all
}

// stateBytes returns the contents of all files of a state folder but compiled code.
func stateBytes(t *testing.T, state string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "compiled":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		p, err := os.ReadFile(path)
		all = append(all, p...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The page is followed with the real addresses: its checks have the outcomes that it says.
func TestServers_githubPageIsWhatAPersonFollows(t *testing.T) {
	page, home := readGitHubPage(t), t.TempDir()
	plugins := filepath.Join(home, "plugins")
	wasm, err := os.ReadFile(filepath.Join(githubServer(t, ""), "plugins", "github.wasm"))
	err = errors.Join(err, os.Mkdir(plugins, 0o755), os.WriteFile(filepath.Join(plugins, "github.wasm"), wasm, 0o644),
		os.WriteFile(filepath.Join(plugins, "github.tool.yaml"), []byte(page.toolFile), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join("testdata", "githubserver", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, sum, _ := strings.Cut(string(sums), githubModule+" v1.0.0 ")
	sum, _, _ = strings.Cut(sum, "\n")
	inspect := shell(t, page.config, "sallyport inspect ~/plugins/github.wasm")
	inspect.Env = append(inspect.Env, "HOME="+home)
	if out, err := inspect.CombinedOutput(); err != nil || sum == "" || !strings.Contains(string(out), sum) {
		t.Errorf("inspect: got %v %.900s, want the sum %s", err, out, sum)
	}
	state := filepath.Join(sharedState(t), "state")
	said := map[string]bool{}
	for line := range strings.Lines(page.explain) {
		command, want, _ := strings.Cut(strings.TrimSpace(line), "# ")
		if got := outcomeOf(t, page.config, command, state, home); got != want {
			t.Errorf("%s is %s, and the page says %s", command, got, want)
		}
		said[want] = true
	}
	if len(said) != 3 {
		t.Errorf("got the outcomes %v, want allowed, refused and asks", said)
	}
	for line := range strings.Lines(page.connect) {
		isCommand(t, strings.TrimSpace(line))
	}
	connect := shell(t, page.config, "sallyport client-config claude-code --write")
	connect.Env = append(connect.Env, "HOME="+home)
	if out, err := connect.CombinedOutput(); err != nil {
		t.Errorf("client-config: got %v %s, want success", err, out)
	}
}

// goCaches are the variables of the go command's caches, for a program with a home of its own.
func goCaches(t *testing.T) (env []string) {
	t.Helper()
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return env
}

// plain returns an object as JSON without tokens, and without the members that the host and the newer era add.
func plain(raw json.RawMessage) string {
	var v map[string]any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	for _, key := range []string{"progressToken", "resultType", "ttlMs", "cacheScope"} {
		delete(v, key)
	}
	if meta, ok := v["_meta"].(map[string]any); ok {
		maps.DeleteFunc(meta, func(key string, _ any) bool {
			return strings.HasPrefix(key, "dev.sallyport/") || strings.HasPrefix(key, "io.modelcontextprotocol/")
		})
		if len(meta) == 0 {
			delete(v, "_meta")
		}
	}
	out, _ := json.Marshal(v)
	return string(out)
}
