package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	githubServer = "github.com/github/github-mcp-server/cmd/github-mcp-server"
	// githubVersion is that of docs/recipes/github.md, and of the module that pins the native build.
	githubVersion = "v1.0.0"
	githubPinned  = "cmd/sallyport/testdata/githubserver"
	// githubTool is the command line of the plugin. Nothing answers at the address, so no call leaves the machine.
	githubTool = `server: {args: [stdio, --gh-host, "http://127.0.0.1"], env: {GITHUB_PERSONAL_ACCESS_TOKEN: "{secret.GITHUB_TOKEN}"}}` + "\n"
)

// githubFolder holds both builds of GitHub's server, and the state of its host.
var githubFolder = filepath.Join("build", "bench", "github")

// buildGitHubServer builds GitHub's server as a plugin, as its users do, and natively.
func buildGitHubServer(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(githubFolder, "plugins"), 0o755); err != nil {
		return err
	}
	native, err := filepath.Abs(filepath.Join(githubFolder, "native"))
	if err != nil {
		return err
	}
	plugin := exec.CommandContext(ctx, hostBinary, "build", "--go", githubServer+"@"+githubVersion, "-o", filepath.Join(githubFolder, "plugins", "github.wasm"),
		"--state", filepath.Join(githubFolder, "state"), "--config", os.DevNull)
	alone := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", native, githubServer)
	alone.Dir, alone.Env = githubPinned, append(os.Environ(), "GOWORK=off")
	for _, cmd := range []*exec.Cmd{plugin, alone} {
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", githubServer, err, text)
		}
	}
	return os.WriteFile(filepath.Join(githubFolder, "plugins", "github.tool.yaml"), []byte(githubTool), 0o600)
}

// launchGitHub starts GitHub's server as a plugin, or natively.
func launchGitHub(ctx context.Context, native bool) (*server, error) {
	if native {
		cmd := exec.CommandContext(ctx, filepath.Join(githubFolder, "native"), "stdio", "--gh-host", "http://127.0.0.1")
		cmd.Env = append(os.Environ(), "GITHUB_PERSONAL_ACCESS_TOKEN=none")
		return launchCommand(cmd, "stdio")
	}
	return launchCommand(exec.CommandContext(ctx, hostBinary, "serve", filepath.Join(githubFolder, "plugins"), "--state", filepath.Join(githubFolder, "state"),
		"--config", os.DevNull, "--log-level", "error"), "stdio")
}

// benchGitHub measures GitHub's server as a plugin and natively: from the launch to the answers to initialize, tools/list
// and a first call, and the memory after that call and later.
func benchGitHub(ctx context.Context, o options) ([]row, error) {
	if err := buildGitHubServer(ctx); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(githubFolder, "state")); err != nil {
		return nil, err
	}
	cold := &githubStart{}
	if err := cold.measure(ctx, false); err != nil {
		return nil, err
	}
	plugin, native := &githubStart{}, &githubStart{}
	for range o.rounds {
		if err := plugin.measure(ctx, false); err != nil {
			return nil, err
		}
		if err := native.measure(ctx, true); err != nil {
			return nil, fmt.Errorf("natively: %w", err)
		}
	}
	rows := []row{{"github_list_unseen_ms", median(cold.listed), "ms", "from the first launch, which compiles, to the answer to tools/list"}}
	for _, s := range []struct{ name, note string }{
		{"start", "from the launch to the answer to initialize"},
		{"list", "from the launch to the answer to tools/list"},
		{"call", "from the list to the answer to the first call, a refused one"},
	} {
		ours, theirs := plugin.times(s.name), native.times(s.name)
		rows = append(rows, row{"github_" + s.name + "_ms", median(ours), "ms", s.note + ", compiled before; " + spread(ours)},
			row{"github_" + s.name + "_native_ms", median(theirs), "ms", s.note + "; " + spread(theirs)})
	}
	more, err := benchGitHubMemory(ctx, o)
	return append(rows, more...), err
}

// githubStart holds the times of starts, in milliseconds.
type githubStart struct{ greeted, listed, called []float64 }

func (g *githubStart) times(name string) []float64 {
	return map[string][]float64{"start": g.greeted, "list": g.listed, "call": g.called}[name]
}

// measure starts the server once.
func (g *githubStart) measure(ctx context.Context, native bool) error {
	begin := time.Now()
	p, err := launchGitHub(ctx, native)
	if err != nil {
		return err
	}
	defer p.stop()
	greeted := time.Since(begin)
	list, err := p.wire.(*pipe).ask("tools/list")
	if err == nil && !bytes.Contains(list, []byte("issue_read")) {
		err = fmt.Errorf("unexpected list: %.300s", list)
	}
	if err != nil {
		return err
	}
	listed := time.Now()
	if err := callGitHub(p, native); err != nil {
		return err
	}
	g.greeted, g.listed = append(g.greeted, milliseconds(greeted)), append(g.listed, milliseconds(listed.Sub(begin)))
	g.called = append(g.called, milliseconds(time.Since(listed)))
	return nil
}

// callGitHub makes a call that the server answers with an error, as it reaches nothing.
func callGitHub(p *server, native bool) error {
	w, tool := p.wire.(*pipe), "github-get_me"
	if native {
		tool = "get_me"
	}
	w.sent++
	if _, err := w.in.Write(append(toolCall{tool: tool, arguments: "{}"}.append(nil, w.sent), '\n')); err != nil {
		return err
	}
	line, err := w.answer()
	if err == nil && !bytes.Contains(line, []byte(`"isError":true`)) {
		err = fmt.Errorf("unexpected answer: %.300s", line)
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
		p, err := launchGitHub(ctx, native)
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
