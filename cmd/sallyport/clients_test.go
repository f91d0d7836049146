//go:build clients

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clientTime is the deadline of one client run.
const clientTime = 150 * time.Second

// TestClients runs real clients against the program with the bundled plugins, on both transports.
func TestClients(t *testing.T) {
	t.Run("go", TestSDK_usesEveryFeature)
	for _, c := range []struct{ script, version, uses string }{
		{"typescript", "2026-07-28", "client"},
		{"typescript", "2025-11-25", "client"},
		{"sdk", "2025-11-25", "sdk"},
	} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(strings.Join([]string{c.script, c.version, transport}, "/"), func(t *testing.T) {
				t.Parallel()
				npm(t, "@modelcontextprotocol", c.uses)
				runScript(t, c.script, c.version, transport)
			})
		}
	}
	for _, era := range []string{"modern", "legacy"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(strings.Join([]string{"inspector", era, transport}, "/"), func(t *testing.T) {
				t.Parallel()
				runInspector(t, era, transport)
			})
		}
	}
	for _, transport := range []string{"stdio", "http"} {
		t.Run("client-config/"+transport, func(t *testing.T) {
			t.Parallel()
			s := written(t, transport, allBundled(t))
			if got := inspected(t, s, "auto", "--method", "tools/list"); got != bundledTools {
				t.Errorf("got %v, want %v", got, bundledTools)
			}
		})
	}
}

// server is the command or address of the program.
type server struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // variables that the program needs besides the usual ones
	URL     string            `json:"url,omitempty"`
	Token   string            `json:"token,omitempty"`

	file string // if not "", a client's configuration with everything except Env
}

// reach returns the program as a command or an address. At the end of the test no process may be left.
func reach(t *testing.T, transport, dir string) server {
	t.Helper()
	t.Cleanup(func() { nothingRuns(t, dir) })
	if transport == "http" {
		url := serveURL(t, bareConformance, dir)
		return server{URL: url, Token: machineToken(t)}
	}
	cmd := program(t, bareConformance, "serve", dir)
	s := server{Command: cmd.Path, Args: cmd.Args[1:], Env: map[string]string{}}
	for _, e := range cmd.Env[len(os.Environ()):] {
		key, value, _ := strings.Cut(e, "=")
		s.Env[key] = value
	}
	s.Env["SALLYPORT_STATE"] = filepath.Join(sharedState(t), "state")
	return s
}

// written returns the program as written by client-config.
func written(t *testing.T, transport, dir string) server {
	t.Helper()
	s := reach(t, transport, dir)
	args := []string{"client-config", "claude-code", dir}
	if transport == "http" {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--http", u.Host)
	}
	entry, err := program(t, bareConformance, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "client.json")
	if err := os.WriteFile(file, entry, 0o600); err != nil {
		t.Fatal(err)
	}
	return server{file: file, Env: s.Env}
}

// nothingRuns fails if a process with dir in its command line is left. Without /proc it checks nothing.
func nothingRuns(t *testing.T, dir string) {
	t.Helper()
	var left string
	defer func() {
		if left != "" {
			t.Logf("a process is left: %s", left)
		}
	}()
	eventually(t, "no process is left", func() bool {
		left = ""
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range lines {
			if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(dir)) {
				left = file
			}
		}
		return left == ""
	})
}

// node runs a script with extra environment variables, and returns its exit code.
func node(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm(t, ".bin", "node"), args...)
	cmd.Env = append(append(os.Environ(), "HOME="+t.TempDir()), env...)
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("node: got %v, want it run\n%s", err, errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// steps are common to all scripts; each transport adds a last one.
const steps = "hello tools calls content errors progress asking cancel concurrent resources prompts complete header logging listChanged updated "

// runScript runs testdata/clients/NAME.mjs.
func runScript(t *testing.T, name, version, transport string) {
	dir, last := allBundled(t, "fetch"), "ended"
	if transport == "http" {
		last = "refused"
	}
	type plugin struct {
		From string `json:"from"`
		To   string `json:"to"`
		Tool string `json:"tool"`
	}
	spec, err := json.Marshal(struct {
		server
		Version   string   `json:"version"`
		Transport string   `json:"transport"`
		Packages  string   `json:"packages"`
		Tools     []string `json:"tools"`
		Add       plugin   `json:"add"`
	}{
		reach(t, transport, dir), version, transport, npm(t) + "/",
		strings.Fields(strings.Replace(bundledTools, "fetch-fetch ", "", 1)),
		plugin{bundled(t, "fetch"), filepath.Join(dir, "fetch.wasm"), "fetch-fetch"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := node(t, []string{"SALLYPORT_CLIENT=" + string(spec)}, filepath.Join("testdata", "clients", name+".mjs"))
	done := strings.ReplaceAll(strings.ReplaceAll(out, "ok ", ""), "\n", " ")
	if code != 0 || strings.TrimSpace(done) != steps+last {
		t.Errorf("got exit code %d after: %s, want 0 after: %s\n%s", code, done, steps+last, errs)
	}
}

// TestClients_runTasks drives tasks with a client made for them.
func TestClients_runTasks(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			npm(t, "@modelcontextprotocol", "ext-tasks")
			spec, err := json.Marshal(struct {
				server
				Transport string `json:"transport"`
				Packages  string `json:"packages"`
			}{reach(t, transport, allBundled(t, "fetch")), transport, npm(t) + "/"})
			if err != nil {
				t.Fatal(err)
			}
			out, errs, code := node(t, []string{"SALLYPORT_CLIENT=" + string(spec)}, filepath.Join("testdata", "clients", "tasks.mjs"))
			if code != 0 || out != "ok works\nok asks\nok fails\n" {
				t.Errorf("got exit code %d after: %s, want 0 after works, asks and fails\n%s", code, out, errs)
			}
		})
	}
}

// inspections are command lines of MCP Inspector.
var inspections = []struct {
	name string
	args []string
	want string // see shown
}{
	{"tools", []string{"--method", "tools/list", "--strict"}, bundledTools}, // strict checks the schemas
	{"convert", []string{"--method", "tools/call", "--tool-name", "time-convert", "--tool-args-json", `{"time":"@0","to":["Asia/Tokyo"]}`},
		`{"from":{"time":"1970-01-01T00:00:00Z","zone":"UTC","weekday":"Thursday","offset":"+00:00","abbreviation":"UTC","dst":false,"unix":0,"week":"1970-W01"},` +
			`"to":[{"time":"1970-01-01T09:00:00+09:00","zone":"Asia/Tokyo","weekday":"Thursday","offset":"+09:00","abbreviation":"JST","dst":false,"unix":0,"week":"1970-W01"}]}`},
	{"bad arguments", []string{"--method", "tools/call", "--tool-name", "time-convert", "--tool-args-json", `{"time":5,"to":["UTC"]}`},
		"time-convert: invalid arguments: /time: want string, but got number (tool_is_error)"},
	{"read", []string{"--method", "resources/read", "--uri", "test://static-text"}, "This is the content of the static text resource."},
	{"prompt", []string{"--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"},
		"Prompt with arguments: arg1='a', arg2='b'"},
	{"no such tool", []string{"--method", "tools/call", "--tool-name", "time-none"}, "(tool_not_found)"},
	{"resources", []string{"--method", "resources/list"}, "sallyport://plugins test://static-binary test://static-text test://watched-resource"},
	{"templates", []string{"--method", "resources/templates/list"}, "test://template/{id}/data"},
	{"prompts", []string{"--method", "prompts/list"},
		"test_input_required_result_prompt test_prompt_with_arguments test_prompt_with_embedded_resource test_prompt_with_image test_simple_prompt"},
}

// legacyInspections is the number of inspections, from the first, that also run in the older era.
const legacyInspections = 5

// runInspector runs each of the inspections, and checks the negotiated version.
func runInspector(t *testing.T, era, transport string) {
	s := reach(t, transport, allBundled(t))
	version, ask := "2026-07-28", inspections
	if era == "legacy" {
		version, ask = "2025-11-25", inspections[:legacyInspections]
	}
	if got := inspected(t, s, era, "--method", "initialize"); got != version {
		t.Errorf("initialize: got %s, want %s", got, version)
	}
	for _, i := range ask {
		if got := inspected(t, s, era, i.args...); got != i.want {
			t.Errorf("%s: got %s, want %s", i.name, got, i.want)
		}
	}
	if transport == "http" {
		s.Token = "wrong"
		if got := inspected(t, s, era, "--method", "tools/list"); got != "(auth_required)" {
			t.Errorf("with a wrong token: got %s, want (auth_required)", got)
		}
	}
}

func inspected(t *testing.T, s server, era string, args ...string) string {
	t.Helper()
	args = append([]string{npm(t, ".bin", "mcp-inspector"), "--cli", "--format", "json", "--quiet",
		"--stored-auth-only", "--protocol-era", era}, args...)
	for key, value := range s.Env {
		args = append(args, "-e", key+"="+value)
	}
	switch {
	case s.file != "":
		args = append(args, "--config", s.file, "--server", "sallyport")
	case s.URL != "":
		args = append(args, "--transport", "http", "--server-url", s.URL, "--header", "Authorization: Bearer "+s.Token)
	default:
		args = append(append(args, "--", s.Command), s.Args...)
	}
	out, errs, code := node(t, nil, args...)
	return shown(t, out, errs, code)
}

// shown condenses a result of the Inspector: names and URIs, then texts, then its error in brackets.
func shown(t *testing.T, out, errs string, code int) string {
	t.Helper()
	type texts []struct{ Text string }
	var o struct {
		Result struct {
			ProtocolVersion   string
			Tools, Prompts    []struct{ Name string }
			Resources         []struct{ URI string }
			ResourceTemplates []struct{ URITemplate string }
			Contents, Content texts
			Messages          []struct{ Content struct{ Text string } }
		}
		Error struct{ Code string }
	}
	for _, text := range []string{out, errs} {
		if err := json.Unmarshal([]byte(text), &o); text != "" && err != nil {
			t.Fatalf("got %v: %s, want JSON", err, text)
		}
	}
	if (code == 0) != (o.Error.Code == "") {
		t.Errorf("got exit code %d, error %q, want an error for other codes than 0: %s", code, o.Error.Code, errs)
	}
	show := []string{o.Result.ProtocolVersion}
	for _, x := range append(o.Result.Tools, o.Result.Prompts...) {
		show = append(show, x.Name)
	}
	for _, x := range o.Result.Resources {
		show = append(show, x.URI)
	}
	for _, x := range o.Result.ResourceTemplates {
		show = append(show, x.URITemplate)
	}
	for _, x := range append(o.Result.Contents, o.Result.Content...) {
		show = append(show, x.Text)
	}
	for _, x := range o.Result.Messages {
		show = append(show, x.Content.Text)
	}
	if code != 0 {
		show = append(show, "("+o.Error.Code+")")
	}
	return strings.TrimSpace(strings.Join(show, " "))
}

// A thousand calls of three rounds each, served by two processes in turn.
func TestClients_replicasContinueAThousandCalls(t *testing.T) { replicas(t, 1000) }
