package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

const divided = `groups:
  ops: ["token:ann"]
plugins:
  time:
    grants:
      - net: GET https://site.example/**
        who: [group:ops]
`

// explain and can decide for a caller, by the groups of the file and of a sign-in, and reveal a line to no other's call.
func TestExplain_decidesForACaller(t *testing.T) {
	dir := folder(t, bundled(t, "time"))
	for _, test := range []struct {
		args []string
		code int
		want []string
		no   string
	}{
		{[]string{"explain", "time", "GET https://site.example/x", "--as", "token:ann"}, 0, []string{"allowed: GET https://site.example/x", "sallyport.yaml:6: net: GET https://site.example/** {who: [group:ops]}"}, "--as"},
		{[]string{"explain", "time", "GET https://site.example/x", "--as", "oauth:id|bob", "--group", "ops"}, 0, []string{"allowed: GET https://site.example/x"}, ""},
		{[]string{"explain", "time", "GET https://site.example/x", "--as", "token:Ann"}, exitTool,
			[]string{"refused: GET https://site.example/x: no grant allows it", "{who: [token:Ann]}"}, "group:ops"},
		{[]string{"explain", "time", "GET https://site.example/x"}, exitTool, []string{"lines with who: count only with --as PRINCIPAL", "'net: GET https://site.example/x?'"}, "group:ops"},
		{[]string{"can", "token:ann", "time-now", dir}, 0, []string{"allowed: token:ann may call time-now", ":6: net: GET https://site.example/** {who: [group:ops]}: is for the caller"}, ""},
		{[]string{"can", "token:bob", "time-now", dir}, 0, []string{":6: net: GET https://site.example/** {who: [group:ops]}: is for others"}, ""},
		{[]string{"explain", "time", "GET https://site.example/x", "--group", "ops"}, exitError, []string{"--as PRINCIPAL names it"}, ""},
		{[]string{"explain", "time", "GET https://site.example/x", "--as", "token:a\u200b"}, exitError, []string{"invisible character"}, ""},
	} {
		cmd := program(t, divided, test.args...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != test.code {
			t.Errorf("%q: got exit code %d, want %d: %s", test.args, got, test.code, out)
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q: got %s, want %q in it", test.args, out, want)
			}
		}
		if test.no != "" && strings.Contains(string(out), test.no) {
			t.Errorf("%q: got %s, want no %q", test.args, out, test.no)
		}
	}
}

// The line of a hint can be added to a file as it is printed, beside the line of others.
func TestGrant_addsALineForOneCaller(t *testing.T) {
	file := t.TempDir() + "/sallyport.yaml"
	if err := os.WriteFile(file, []byte(divided), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := settings.Add(file, "time", "net: GET https://site.example/x {who: [token:bob]}")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Write(); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Plugins[0].Grants.Lines().String(); got != "net: GET https://site.example/** {who: [group:ops]}\nnet: GET https://site.example/x {who: [token:bob]}\n" {
		t.Errorf("got %s, want both lines", got)
	}
	if _, err := settings.Add(file, "time", "net: GET https://site.example/x"); err != nil {
		t.Errorf("a line for all beside lines for some: %v", err)
	}
}
