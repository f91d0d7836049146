package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestWire_answersAsRecorded replays each file of testdata/wire: the lines of its client section are sent, and the output must equal its
// server section. The plugins are conformance and effects, without prefixes.
//
// A line of the client is a message or a directive:
//
//	@hear N             waits for N messages of the server
//	@as NAME            over HTTP: uses the token of NAME from now on, alice at first
//	@header NAME VALUE  over HTTP: replaces this header of the next message
//	@leave              over HTTP: ends the connections of all messages without their answers
//
// In a line $M stands for the members of a modern _meta, and $CAPS for one with client capabilities. $STATE1 is the
// first requestState of the server, shown in its section as STATE1; $BIG is a long text, shown as BIG. Over HTTP, which
// files named http_… use, an answer that is no stream begins with its status.
//
// If the environment variable UPDATE_WIRE is set, the server sections are rewritten.
func TestWire_answersAsRecorded(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "wire", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no wire tests: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("%d sections, %v", len(archive.Files), err)
			}
			w := &dialogue{t: t, out: make(chan string, 1000), token: "alice"}
			if strings.HasPrefix(name, "http_") {
				w.overHTTP()
			} else {
				w.overStdio()
			}
			got := w.play(string(archive.Files[0].Data))
			if os.Getenv("UPDATE_WIRE") != "" {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[1].Data); got != want {
				t.Errorf("the server said\n%s\nand should have said\n%s", got, want)
			}
		})
	}
}

// wireConfig is the configuration of the wire tests.
const wireConfig = `
plugins:
  conformance: {prefix: false, grants: [elicitation, {sampling: {calls: 5, tokens: 1000}}, roots]}
  effects: {grants: [elicitation, {sampling: {calls: 5, tokens: 1000}}, roots], limits: {concurrency: 1}}
`

// dialogue is one run of a wire test.
type dialogue struct {
	t      *testing.T
	send   func(line string)
	close  func() // closes the input
	out    chan string
	said   strings.Builder
	states []string

	url, token string // over HTTP
	tokens     map[string]string
	header     []string // name and value
	stay       context.Context
	leave      context.CancelFunc
	answers    sync.WaitGroup
}

func (w *dialogue) overStdio() {
	cmd := program(w.t, wireConfig, "serve", folder(w.t, bundled(w.t, "conformance"), guest(w.t, "effects")))
	in, out := piped(w.t, cmd)
	go func() { // ends with the program
		defer close(w.out)
		for s := bufio.NewReader(out); ; {
			line, err := s.ReadString('\n')
			if err != nil {
				return
			}
			w.out <- strings.TrimSuffix(line, "\n")
		}
	}()
	w.send = func(line string) { io.WriteString(in, line+"\n") }
	w.close = func() {
		in.Close()
		w.t.Cleanup(func() { wantEnd(w.t, cmd) })
	}
}

func (w *dialogue) overHTTP() {
	config := "http: {tokens: '" + filepath.Join(w.t.TempDir(), "tokens") + "'}\n" + wireConfig
	w.tokens = map[string]string{}
	for _, name := range []string{"alice", "eve"} {
		token, err := program(w.t, config, "token", name).Output()
		if err != nil {
			w.t.Fatal(err)
		}
		w.tokens[name] = strings.TrimSpace(string(token))
	}
	w.url = serveURL(w.t, config, folder(w.t, guest(w.t, "effects")))
	w.stay, w.leave = context.WithCancel(w.t.Context())
	w.send, w.close = w.post, func() {
		w.leave()
		w.answers.Wait()
		close(w.out)
	}
}

func (w *dialogue) play(client string) string {
	for line := range strings.Lines(client) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case line == "" || line[0] == '#':
		case words[0] == "@hear":
			n, _ := strconv.Atoi(words[1])
			for range n {
				w.hear(soon(w.t, w.out))
			}
		case words[0] == "@as":
			w.token = words[1]
		case words[0] == "@header":
			w.header = words[1:]
		case words[0] == "@leave":
			w.leave()
			w.stay, w.leave = context.WithCancel(w.t.Context())
		default:
			w.send(w.expand(line))
		}
	}
	w.close()
	for line := range w.out {
		w.hear(line)
	}
	return w.said.String()
}

// expand replaces the variables in a line.
func (w *dialogue) expand(line string) string {
	const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`
	line = strings.NewReplacer("$BIG", bigText, "$M", meta+"{}", "$CAPS", meta+`{"elicitation":{},"sampling":{},"roots":{}}`).Replace(line)
	return wireState.ReplaceAllStringFunc(line, func(name string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(name, "$STATE"))
		return w.states[n-1]
	})
}

// bigText is too long for a requestState.
var bigText = strings.Repeat("big", 20_000)

var (
	wireState = regexp.MustCompile(`\$STATE\d+`)
	sentState = regexp.MustCompile(`"requestState":"([^"]*)"`)
	// changing matches members that differ between runs.
	changing   = regexp.MustCompile(`"dev\.sallyport/receipt":\{.*?"audit":"[^"]*"\},?|,"call":"[^"]*"`)
	ourVersion = regexp.MustCompile(`serverInfo":\{"name":"sallyport","version":"[^"]*"`)
)

// hear records one message of the server.
func (w *dialogue) hear(line string) {
	line = strings.ReplaceAll(changing.ReplaceAllString(line, ""), ",}", "}")
	line = strings.ReplaceAll(line, bigText, "BIG")
	line = ourVersion.ReplaceAllString(line, `serverInfo":{"name":"sallyport","version":"V"`)
	line = sentState.ReplaceAllStringFunc(line, func(member string) string {
		state := sentState.FindStringSubmatch(member)[1]
		if !slices.Contains(w.states, state) {
			w.states = append(w.states, state)
		}
		return fmt.Sprintf(`"requestState":"STATE%d"`, slices.Index(w.states, state)+1)
	})
	w.said.WriteString(line + "\n")
}

// post sends one message over HTTP, with its headers. It does not wait for the answer.
func (w *dialogue) post(line string) {
	r, err := http.NewRequestWithContext(w.stay, "POST", w.url, strings.NewReader(line))
	if err != nil {
		w.t.Fatal(err)
	}
	var m struct {
		Method string
		Params struct {
			Name, URI string
			Meta      map[string]any `json:"_meta"`
		}
	}
	_ = json.Unmarshal([]byte(line), &m) // invalid JSON has no headers either
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+w.tokens[w.token])
	if v, ok := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string); ok {
		r.Header.Set("Mcp-Protocol-Version", v)
		r.Header.Set("Mcp-Method", m.Method)
		r.Header.Set("Mcp-Name", m.Params.Name+m.Params.URI)
	}
	if w.header != nil {
		r.Header.Set(w.header[0], strings.Join(w.header[1:], " "))
		w.header = nil
	}
	w.answers.Go(func() { w.answer(r) })
}

func (w *dialogue) answer(r *http.Request) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return // left by @leave
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		w.out <- strings.TrimSpace(strconv.Itoa(resp.StatusCode) + " " + string(body))
		return
	}
	for s := bufio.NewReader(resp.Body); ; {
		line, err := s.ReadString('\n')
		if data, found := strings.CutPrefix(strings.TrimSpace(line), "data: "); found {
			w.out <- data
		}
		if err != nil {
			return
		}
	}
}
