package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	githubServer = "github.com/github/github-mcp-server/cmd/github-mcp-server"
	// githubVersion is that of docs/recipes/github.md, and of the module that pins the native build.
	githubVersion = "v1.0.0"
	githubPinned  = "cmd/sallyport/testdata/githubserver"
	githubAPI     = "https://api.github.com/"
	// githubProxy is where nothing listens: no request of the native server leaves the machine, and none to its names.
	githubProxy = "http://127.0.0.1:1"
	// githubCalls are the calls behind the first one that are measured in each process.
	githubCalls = 20
)

// githubFolder holds both builds of GitHub's server, and its setups with the state of their hosts.
var githubFolder = filepath.Join("build", "bench", "github")

// githubSetup is the way in which the server is run, as a plugin and natively.
type githubSetup struct {
	name string // of its rows
	host string // of a GitHub of one's own, which the server sends a request when it starts; empty for github.com
	note string
}

var (
	githubCom = githubSetup{"github", "", "github.com, as in docs/recipes/github.md"}
	githubOwn = githubSetup{"github_own", "http://127.0.0.1", "a GitHub of one's own, which is sent a request at each start"}
)

func (g githubSetup) plugins() string { return filepath.Join(githubFolder, g.name, "plugins") }
func (g githubSetup) state() string   { return filepath.Join(githubFolder, g.name, "state") }

// args are the arguments of the server.
func (g githubSetup) args() []string {
	if g.host == "" {
		return []string{"stdio"}
	}
	return []string{"stdio", "--gh-host", g.host}
}

// write makes the plugin folder and the configuration of the page, for the host of the setup.
func (g githubSetup) write() error {
	page, err := os.ReadFile(filepath.Join("docs", "recipes", "github.md"))
	if err != nil {
		return err
	}
	blocks := strings.Split(string(page), "```")
	if len(blocks) < 6 {
		return fmt.Errorf("docs/recipes/github.md has %d blocks, and the tool file is the second one", len(blocks)/2)
	}
	tool, config := strings.TrimPrefix(blocks[3], "yaml\n"), strings.TrimPrefix(blocks[5], "yaml\n")
	if g.host != "" {
		tool = strings.Replace(tool, "[stdio]", "["+strings.Join(g.args(), ", ")+"]", 1)
		config = strings.ReplaceAll(config, githubAPI, g.host+"/api/v3/")
	}
	err = errors.Join(os.RemoveAll(filepath.Join(githubFolder, g.name)), os.MkdirAll(g.plugins(), 0o755))
	return errors.Join(err, os.Link(filepath.Join(githubFolder, "github.wasm"), filepath.Join(g.plugins(), "github.wasm")),
		os.WriteFile(filepath.Join(g.plugins(), "github.tool.yaml"), []byte(tool), 0o600),
		os.WriteFile(filepath.Join(githubFolder, g.name, "sallyport.yaml"), []byte(config), 0o600))
}

// buildGitHubServer builds GitHub's server as a plugin, as its users do, and natively.
func buildGitHubServer(ctx context.Context) error {
	if err := os.MkdirAll(githubFolder, 0o755); err != nil {
		return err
	}
	native, err := filepath.Abs(filepath.Join(githubFolder, "native"))
	if err != nil {
		return err
	}
	plugin := exec.CommandContext(ctx, hostBinary, "build", "--go", githubServer+"@"+githubVersion, "-o", filepath.Join(githubFolder, "github.wasm"),
		"--state", filepath.Join(githubFolder, "state"), "--config", os.DevNull)
	alone := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", native, githubServer)
	alone.Dir, alone.Env = githubPinned, append(os.Environ(), "GOWORK=off")
	for _, cmd := range []*exec.Cmd{plugin, alone} {
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", githubServer, err, text)
		}
	}
	return errors.Join(githubCom.write(), githubOwn.write())
}

// launch starts GitHub's server as a plugin, or natively.
func (g githubSetup) launch(ctx context.Context, native bool) (*server, error) {
	cmd := exec.CommandContext(ctx, hostBinary, "serve", g.plugins(), "--state", g.state(),
		"--config", filepath.Join(githubFolder, g.name, "sallyport.yaml"), "--log-level", "error")
	if native {
		cmd = exec.CommandContext(ctx, filepath.Join(githubFolder, "native"), g.args()...)
	}
	cmd.Env = append(os.Environ(), "GITHUB_TOKEN=none", "GITHUB_PERSONAL_ACCESS_TOKEN=none", "HTTP_PROXY="+githubProxy, "HTTPS_PROXY="+githubProxy)
	return launchCommand(cmd, "stdio")
}

// benchGitHub measures GitHub's server as a plugin and natively: from the launch to the answers to initialize, tools/list
// and a first call, later calls, and the memory after a call and later.
func benchGitHub(ctx context.Context, o options) ([]row, error) {
	if err := buildGitHubServer(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, g := range []githubSetup{githubCom, githubOwn} {
		more, err := g.bench(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.note, err)
		}
		rows = append(rows, more...)
	}
	more, err := benchGitHubMemory(ctx, o)
	return append(rows, more...), err
}

// bench measures one setup.
func (g githubSetup) bench(ctx context.Context, o options) (rows []row, err error) {
	cold, plugin, native := &githubStart{}, &githubStart{}, &githubStart{}
	if err := cold.measure(ctx, g, false); err != nil {
		return nil, err
	}
	rows = append(rows, row{g.name + "_list_unseen_ms", median(cold.times["list"]), "ms", "from the first launch, which compiles, to the answer to tools/list; " + g.note})
	for range o.rounds {
		if err := plugin.measure(ctx, g, false); err != nil {
			return nil, err
		}
		if err := native.measure(ctx, g, true); err != nil {
			return nil, fmt.Errorf("natively: %w", err)
		}
	}
	for _, s := range []struct{ name, note string }{
		{"start", "from the launch to the answer to initialize"},
		{"list", "from the launch to the answer to tools/list"},
		{"call", "from the list to the answer to the first call, whose request is refused"},
		{"again", "of a later call of the same"},
	} {
		ours, theirs := plugin.times[s.name], native.times[s.name]
		rows = append(rows, row{g.name + "_" + s.name + "_ms", median(ours), "ms", s.note + ", compiled before; " + spread(ours) + "; " + g.note},
			row{g.name + "_" + s.name + "_native_ms", median(theirs), "ms", s.note + "; " + spread(theirs)})
	}
	return rows, nil
}

// githubStart holds the times of starts, in milliseconds.
type githubStart struct{ times map[string][]float64 }

func (s *githubStart) add(name string, took time.Duration) {
	if s.times == nil {
		s.times = map[string][]float64{}
	}
	s.times[name] = append(s.times[name], milliseconds(took))
}

// measure starts the server once.
func (s *githubStart) measure(ctx context.Context, g githubSetup, native bool) error {
	begin := time.Now()
	p, err := g.launch(ctx, native)
	if err != nil {
		return err
	}
	defer p.stop()
	s.add("start", time.Since(begin))
	list, err := p.wire.(*pipe).ask("tools/list")
	if err == nil && !bytes.Contains(list, []byte("issue_read")) {
		err = fmt.Errorf("unexpected list: %.300s", list)
	}
	if err != nil {
		return err
	}
	s.add("list", time.Since(begin))
	for n := range 1 + githubCalls {
		begin, name := time.Now(), "again"
		if n == 0 {
			name = "call"
		}
		if err := callGitHub(p, native); err != nil {
			return err
		}
		s.add(name, time.Since(begin))
	}
	return nil
}

// callGitHub makes a call whose request is refused: by the grants of the page, or for the native server by the machine.
func callGitHub(p *server, native bool) error {
	w, tool, refused := p.wire.(*pipe), "github-create_repository", "no grant allows it"
	if native {
		tool, refused = "create_repository", "connection refused"
	}
	w.sent++
	if _, err := w.in.Write(append(toolCall{tool: tool, arguments: `{"name":"new"}`}.append(nil, w.sent), '\n')); err != nil {
		return err
	}
	line, err := w.answer()
	if err == nil && !bytes.Contains(line, []byte(refused)) {
		err = fmt.Errorf("unexpected answer: %.600s", line)
	}
	return err
}

// benchGitHubMemory measures both processes after one call, and later, and then the processor time of the idle host.
func benchGitHubMemory(ctx context.Context, o options) ([]row, error) {
	idle := fiftyIdle
	if o.quick {
		idle = time.Second
	}
	pids := map[bool]int{}
	for _, native := range []bool{false, true} {
		p, err := githubCom.launch(ctx, native)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		if err := callGitHub(p, native); err != nil {
			return nil, err
		}
		pids[native] = p.cmd.Process.Pid
	}
	kept := func(native bool) float64 { return float64(keptBy(pids[native])) / (1 << 20) }
	busy := kept(false)
	time.Sleep(idle)
	later, native, used := kept(false), kept(true), cpuOf(pids[false])
	time.Sleep(idle)
	used = cpuOf(pids[false]) - used
	return []row{
		{"github_called_MB", busy, "MiB", "the whole host, after one call"},
		{"github_idle_MB", later, "MiB", fmt.Sprintf("the whole host, %v later", idle)},
		{"github_idle_native_MB", native, "MiB", "beside the program's own file"},
		{"github_idle_cpu", 100 * used.Seconds() / idle.Seconds(), "%", fmt.Sprintf("of one processor, in the %v after that", idle)},
	}, nil
}
