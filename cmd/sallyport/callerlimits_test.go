package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const callerLimits = `groups:
  interns: ["token:eve"]
plugins:
  misbehave:
    limits:
      deadline: 5m
      wait: 4m
      concurrency: 4
      for:
        - who: [group:interns]
          deadline: 1s
        - who: ["token:gus"]
          memory: 32MiB
          output: 2KiB
        - who: ["token:dan"]
          concurrency: 1
          queue: 1
        - who: ["token:ann"]
          output: 4MiB
`

// Callers of one plugin over HTTP have their own deadline, memory, output and places, more or less than the others, and
// the errors name the keys. A changed file holds for the next call.
func TestLimitsFor_differByCaller(t *testing.T) {
	t.Parallel()
	tokens := "http: {tokens: '" + filepath.Join(t.TempDir(), "tokens") + "'}\n"
	of := map[string]string{}
	for _, name := range []string{"eve", "gus", "dan", "ann", "bob"} {
		token, err := program(t, tokens, "token", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		of[name] = strings.TrimSpace(string(token))
	}
	serve := program(t, tokens+callerLimits, "serve", "--http", "127.0.0.1:0", folder(t, guest(t, "misbehave")))
	url := serveCommand(t, serve)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ask := func(name, tool string) (body string, err error) {
		r, err := modernRequest(url, "tools/call", "misbehave-"+tool, []byte(modern("1", "tools/call", `"name":"misbehave-`+tool+`","arguments":{"text":"hello"},`)))
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+of[name])
		res, err := http.DefaultClient.Do(r.WithContext(ctx))
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return fmt.Sprint(res.StatusCode, " ", string(text)), err
	}
	want := func(name, tool, want string) {
		t.Helper()
		if got, err := ask(name, tool); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s, %s: got %.400s, %v, want %q in it", name, tool, got, err, want)
		}
	}
	want("eve", "loop", "did not answer in time: limits.for.deadline is 1s")
	want("gus", "gigabyte", "refused more than 32 MiB of memory (limits.for.memory)")
	want("bob", "gigabyte", "refused more than 64 MiB of memory (limits.memory)")
	want("gus", "huge", "limits.for.output")
	want("bob", "huge", "limits.output")
	if got, err := ask("ann", "huge"); err != nil || strings.Contains(got, "limits.") || len(got) < 1<<20 {
		t.Errorf("got %d bytes, %v, want the whole mebibyte", len(got), err)
	}
	answers := make(chan string, 3)
	for range 3 { // one runs, one waits, one is over the limit
		go func() {
			body, err := ask("dan", "loop")
			answers <- fmt.Sprint(body, err)
		}()
	}
	if got := <-answers; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, "too many calls: 1 run and 1 wait (limits.for.queue): try again") {
		t.Errorf("got %s, want 503", got)
	}
	want("ann", "fine", `"hello"`)
	want("bob", "fine", `"hello"`)
	cancel()
	for range 2 {
		if got := <-answers; !strings.Contains(got, "context canceled") {
			t.Errorf("a call that does not end has an answer: %s", got)
		}
	}
	ctx = t.Context()
	file := ""
	for i, a := range serve.Args {
		if a == "--config" {
			file = serve.Args[i+1]
		}
	}
	if err := os.WriteFile(file, []byte(tokens+strings.Replace(callerLimits, "token:ann", "token:bob", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the limits are bob's", func() bool {
		got, err := ask("bob", "huge")
		return err == nil && !strings.Contains(got, "limits.")
	})
	want("ann", "huge", "limits.output")
}

// can and explain print the limits that count for a caller.
func TestLimitsFor_canAndExplainPrintThem(t *testing.T) {
	dir := folder(t, bundled(t, "time"))
	const config = `groups: {interns: ["token:eve"]}
plugins:
  time:
    limits:
      for:
        - {who: [group:interns], deadline: 5s, sent: 1KiB}
        - {who: [all], deadline: 10s}
`
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"can", "token:eve", "time-now", dir}, ":6: limits.for: who: [group:interns], deadline: 5s, sent: 1KiB\n"},
		{[]string{"can", "oauth:x", "time-now", dir, "--group", "interns"}, ":6: limits.for: who: [group:interns]"},
		{[]string{"can", "token:bob", "time-now", dir}, ":7: limits.for: who: [all], deadline: 10s\n"},
		{[]string{"explain", "time", "GET https://site.example/x", "--as", "token:eve"}, ":6: limits.for: who: [group:interns]"},
	} {
		out, _ := program(t, config, test.args...).CombinedOutput() // explain has the exit code of a refusal
		if !strings.Contains(string(out), test.want) || strings.Count(string(out), "limits.for") != 1 {
			t.Errorf("%q: got %s, want %q in it", test.args, out, test.want)
		}
	}
	if out, _ := program(t, config, "explain", "time", "GET https://site.example/x").CombinedOutput(); strings.Contains(string(out), "limits.for") {
		t.Errorf("got %s, want no limits of a caller that is not named", out)
	}
}
