package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoad_refusesGrantsGainedBySyntax tries to gain grants through the syntax of the file: each case must be an error
// with its line, and grant nothing. With -v it prints a line with the outcome for each.
func TestLoad_refusesGrantsGainedBySyntax(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nplugins: {p: {grants: [*b,*b]}}\n"
	for _, c := range []struct{ name, text, want string }{
		{"tab", "plugins:\n\tp:\n", ":2:"},
		{"duplicate plugin", "plugins:\n  p: {}\n  p: {grants: [net: GET https://**]}\n", ":3:"},
		{"duplicate grants", "plugins:\n  p:\n    grants: []\n    grants: [net: GET https://**]\n", ":4:"},
		{"duplicate option", "plugins:\n  p:\n    grants:\n      - net: GET https://a.example/\n        body: 1KiB\n        body: 1GiB\n", ":6:"},
		{"duplicate in a flow map", "plugins:\n  p:\n    grants:\n      - 'net: GET https://a.example/ {body: 1KiB, body: 1GiB}'\n", ":4:"},
		{"anchor bomb", bomb, ":1: anchors and aliases are not read here"},
		{"merge key", "base: &b {grants: [net: GET https://**]}\nplugins:\n  p:\n    <<: *b\n", ":1:"},
		{"tag", "plugins:\n  p:\n    grants: !!python/object [x]\n", ":3:"},
		{"second document", "plugins: {}\n---\nplugins: {p: {grants: [net: GET https://**]}}\n", ":"},
		{"nesting bomb", "plugins: " + strings.Repeat("{a: ", 2000) + strings.Repeat("}", 2000) + "\n", ":1:"},
		{"unknown option", "plugins:\n  p:\n    grants:\n      - net: GET https://a.example/\n        metod: POST\n", ":5: unknown option"},
		{"unknown key", "plugins:\n  p:\n    grant: [net: GET https://**]\n", ":3: unknown key"},
		{"unknown family", "plugins:\n  p:\n    grants: [exec: /bin/sh]\n", ":3: unknown grant"},
		{"hidden character", "plugins:\n  p:\n    grants:\n      - 'net: GET https://a.example/\u202e/x'\n", ":4:"},
		{"line end in quotes", "plugins:\n  p:\n    grants:\n      - \"net: GET https://a.example/\\nfs: read /**\"\n", ":4:"},
		{"dots", "plugins:\n  p:\n    grants: [fs: read /srv/../etc/**]\n", ":3:"},
		{"relative path", "plugins:\n  p:\n    grants: [fs: read etc/**]\n", ":3:"},
		{"value in front of a path", "plugins:\n  p:\n    grants: ['fs: read {args.path:path}/**']\n", ":3:"},
		{"value for a scheme", "plugins:\n  p:\n    grants: ['net: GET {args.s}://a.example/']\n", ":3:"},
		{"value for a port", "plugins:\n  p:\n    grants: ['net: GET https://a.example:{args.p}/']\n", ":3:"},
		{"value beside text", "plugins:\n  p:\n    grants: ['net: GET https://{args.h}.example.evil{args.x}/']\n", ":3:"},
		{"roots without a place", "plugins:\n  p:\n    grants: ['fs: read {roots}/**']\n", ":3:"},
		{"user information", "plugins:\n  p:\n    grants: ['net: GET https://a@b.example/']\n", ":3:"},
		{"numeric host", "plugins:\n  p:\n    grants: ['net: GET http://127.1/']\n", ":3:"},
		{"secret that goes nowhere", "plugins:\n  p:\n    grants: [secret: TOKEN]\n", ":3:"},
		{"secret of a plugin's own", "plugins:\n  p:\n    grants:\n      - config: {key: {secret: TOKEN}}\n", ":4:"},
		{"bytes that are no text", "plugins:\n  p:\n    grants: ['fs: read /\xff']\n", ""},
		{"too large", "# " + strings.Repeat("x", 5<<20), ""},
		{"a folder", "", ""},
	} {
		file := filepath.Join(t.TempDir(), "sallyport.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.name == "a folder" {
			file = filepath.Dir(file)
		}
		outcome := "refused"
		s, err := Load(Options{File: file})
		switch {
		case err == nil:
			outcome = "accepted"
			t.Errorf("%s: %+v", c.name, s.Plugins)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		t.Logf("%-9s %-34s %s", "file", c.name, outcome)
	}
	twins := `plugins:
  p:
    grants:
      - net: GET https://a.example/{args.x}/**
        body: 1KiB
        for: [get]
      - "fs: read /srv/a: b/**"
      - fs: write ~/out/{args.dir:path}/**
      - config: {key: {secret: TOKEN}}
      - secret: TOKEN
        to: https://a.example/**
`
	file := write(t, twins)
	s, err := Load(Options{File: file})
	if err != nil || len(s.Plugins) != 1 || len(s.Plugins[0].Grants.Lines()) != 5 {
		t.Errorf("what is written well: %v, %v", s, err)
	}
}
