package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// scenario is what every library for authors has to answer. A line that begins with > is sent to the host, one with <
// has to be its next message, one with ~ the next change of a resource, which may overtake other messages, $HOST stands for the host and port of a web server, and $STATE for the state folder. Messages are compared byte for byte after
// the order of their members is made equal. The first run with the environment variable UPDATE_SCENARIO set rewrites the
// host's lines.
const scenario = "../../pdk/scenario/scenario.txt"

// scenarioConfig is the configuration for the plugin of a language.
const scenarioConfig = `
plugins:
  scenario:
    prefix: false
    grants:
      - elicitation
      - sampling: {calls: 3, tokens: 1000}
      - roots
      - kv: 1MiB
      - tools: [hello, fail]
        any: true
      - net: GET,POST $WEB/**
      - config: {WEB: "$WEB"}
`

func TestScenario_goAnswersAlike(t *testing.T) {
	wasm := filepath.Join(t.TempDir(), "scenario.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", wasm, "./examples/scenario")
	cmd.Dir, cmd.Env = filepath.Join("..", "..", "pdk", "go"), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, text)
	}
	playScenario(t, wasm)
}

func TestScenario_typescriptAnswersAlike(t *testing.T) {
	playScenario(t, filepath.Join("..", "..", "pdk", "ts", "examples", "scenario.ts"))
}

// The same plugin without its types is JavaScript.
func TestScenario_javascriptAnswersAlike(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "pdk", "ts", "examples", "scenario.ts"))
	if err != nil {
		t.Fatal(err)
	}
	plain := api.Transform(string(source), api.TransformOptions{Loader: api.LoaderTS, Target: api.ESNext})
	if len(plain.Errors) > 0 || bytes.Contains(plain.Code, []byte("Record<")) {
		t.Fatalf("got %v and\n%s\nwant JavaScript", plain.Errors, plain.Code)
	}
	file := filepath.Join(t.TempDir(), "scenario.js")
	if err := os.WriteFile(file, plain.Code, 0o600); err != nil {
		t.Fatal(err)
	}
	playScenario(t, file)
}

func TestScenario_pythonAnswersAlike(t *testing.T) {
	playScenario(t, filepath.Join("..", "..", "pdk", "python", "examples", "scenario.py"))
}

// playScenario serves a plugin file, and compares every answer with the scenario.
func playScenario(t *testing.T, file string) {
	t.Helper()
	script, err := os.ReadFile(scenario)
	if err != nil {
		t.Fatal(err)
	}
	web := scenarioWeb(t)
	cmd := program(t, strings.ReplaceAll(scenarioConfig, "$WEB", web), "serve", folder(t, file))
	cmd.Stderr = t.Output()
	general := strings.NewReplacer(strings.TrimPrefix(web, "http://"), "$HOST", filepath.Join(sharedState(t), "state"), "$STATE")
	in, out := piped(t, cmd)
	messages, updates := make(chan string, 100), make(chan string, 100)
	go func() { // ends with the program
		defer close(messages)
		defer close(updates)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch text := lines.Text(); {
			case strings.HasPrefix(text, `{"jsonrpc":"2.0","method":"notifications/resources/updated"`):
				updates <- text
			case !strings.HasSuffix(text, `/list_changed"}`): // of the first load, and of hidden tools
				messages <- text
			}
		}
	}()
	var got strings.Builder
	for line := range strings.Lines(string(script)) {
		switch text := strings.TrimSpace(line[min(2, len(line)):]); {
		case strings.HasPrefix(line, "> "):
			io.WriteString(in, `{"jsonrpc":"2.0",`+text[1:]+"\n")
		case strings.HasPrefix(line, "< "), strings.HasPrefix(line, "~ "):
			mark, from := line[:2], messages
			if mark == "~ " {
				from = updates
			}
			line = mark + plainMessage(t, general.Replace(soon(t, from))) + "\n"
			if want := mark + plainMessage(t, text) + "\n"; line != want && os.Getenv("UPDATE_SCENARIO") == "" {
				t.Errorf("got\n%swant\n%s", line, want)
			}
		}
		got.WriteString(line)
	}
	in.Close()
	wantEnd(t, cmd)
	for _, rest := range []chan string{messages, updates} {
		for extra := range rest {
			t.Errorf("got %s, want no more messages", extra)
		}
	}
	if os.Getenv("UPDATE_SCENARIO") != "" {
		if err := os.WriteFile(scenario, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scenarioWeb serves the pages of the scenario.
func scenarioWeb(t *testing.T) (address string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			io.WriteString(w, "a page, größer")
		case "/echo":
			body, _ := io.ReadAll(r.Body)
			io.WriteString(w, r.Method+" "+r.Header.Get("Content-Type")+" "+string(body))
		case "/broken":
			panic(http.ErrAbortHandler) // closes the connection
		case "/slow":
			<-r.Context().Done() // the client gives up
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// plainMessage returns a message with its members in order, and without those of every message and of one run.
func plainMessage(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var message map[string]any
	if err := d.Decode(&message); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	delete(message, "jsonrpc")
	withoutRun(message)
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(message); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(plain.String())
}

// withoutRun removes the members that differ from run to run.
func withoutRun(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			withoutRun(one)
		}
	case map[string]any:
		for _, key := range []string{"_meta", "serverInfo"} {
			delete(v, key)
		}
		for _, one := range v {
			withoutRun(one)
		}
	}
}
