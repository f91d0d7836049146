//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// component is the smallest WebAssembly component.
const component = "\x00asm\x0d\x00\x01\x00"

// imageLayer returns a tar layer with one file, as images of hyper-mcp have it.
func imageLayer(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// hostOf returns the host and port of an address on loopback.
func hostOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Each source of a configuration is fetched, shown, asked about and installed, with its settings; a second import changes
// nothing.
func TestImport_installsThePluginsOfHyperMCP(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.pushLayer("acme/chatter", "1", "application/vnd.oci.image.layer.v1.tar+gzip", imageLayer(t, "plugin.wasm", speaker("Speaks.", "one")))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(speaker("Speaks.", "two")) }))
	t.Cleanup(web.Close)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "local.wasm"), speaker("Speaks.", "three"))
	config := filepath.Join(dir, "config.yaml")
	put(t, config, []byte(`plugins:
  chatter:
    url: `+hub.source("acme/chatter", "1")+`
    runtime_config:
      allowed_hosts: ["api.example.com"]
      env_vars: {FORGE_KEY: s3cr3t-value}
      skip_tools: ["s.y", debug]
      memory_limit: 32Mi
  page-1: {url: "`+web.URL+`/page.wasm"}
  near: {path: local.wasm}
  cloud: {url: "s3://bucket/x.wasm"}
`))
	args := []string{"import", "hyper-mcp", config, a.dir, "--host", hostOf(hub.url), "--host", hostOf(web.URL)}
	screen, out, code := typing(t, a.program(args...), "y", "n", "y", "y", "y")
	if code != exitTool || a.files() != "chatter.wasm near.wasm page_1.wasm" {
		t.Fatalf("got code %d and files %q, %s, want all but the one of s3\n%s", code, a.files(), out, screen)
	}
	for _, want := range []string{"from    " + hub.source("acme/chatter", "1"), "memory  32MiB at most", "hides   debug, say", "install it as chatter?",
		"# allowed_hosts has api.example.com; narrowed to https", "install it as page_1?", "from    " + filepath.Join(dir, "local.wasm")} {
		if !strings.Contains(strings.ReplaceAll(screen, "\r\n    ", " "), want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	for _, want := range []string{`config.yaml:7: plugins.chatter.runtime_config.skip_tools: "s.y" stands for say now`, "not yet   sallyport grant chatter 'net: ", "granted   config: {FORGE_KEY: ",
		"cloud: not installed: " + config + ":11: s3://bucket/x.wasm: s3 is not read here: save the module"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	written, err := os.ReadFile(filepath.Join(a.home, "sallyport.yaml"))
	if err != nil || !strings.HasPrefix(string(written), "# mine\n") || !strings.Contains(string(written), "limits: {memory: 32MiB}") || !strings.Contains(string(written), "s3cr3t-value") || strings.Contains(string(written), "api.example.com") {
		t.Errorf("got configuration %s, %v, want the section of chatter", written, err)
	}
	if out, err := a.program("list", a.dir, "--locked").Output(); err != nil || strings.Count(string(out), " loaded ") != 3 {
		t.Errorf("list --locked: got %s, %v, want three approved plugins", out, err)
	}
	if out, err := a.program("list", a.dir, "--outdated").Output(); err != nil || strings.Count(string(out), " current ") != 3 {
		t.Errorf("list --outdated: got %s, %v, want the three sources known", out, err)
	}
	if out, err := a.program("audit", "tail", "--json", "-n", "100").Output(); err != nil || !strings.Contains(string(out), `"config: FORGE_KEY"`) || strings.Contains(string(out), "s3cr3t") {
		t.Errorf("the audit log: got %s, %v, want the name of the value alone", out, err)
	}

	again, err := a.program(args...).CombinedOutput()
	after, readErr := os.ReadFile(filepath.Join(a.home, "sallyport.yaml"))
	if err == nil || readErr != nil || strings.Count(string(again), "is installed already") != 3 || strings.Count(string(again), "not yet") != 1 || !bytes.Equal(after, written) {
		t.Errorf("again: got %s, %v, want no question and no change", again, err)
	}
}

// A configuration of another host has no right that its reader has: its sources, names and bytes are refused as those of add.
func TestImport_refusesAsAddDoes(t *testing.T) {
	hub := newOCIServer(t)
	hub.push("acme/speaker", "1", speaker("Speaks.", "one"))
	hub.push("acme/page", "1", []byte("<html>"))
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("got a request to the private host, want none")
		_, _ = w.Write(speaker("Speaks.", "private"))
	}))
	t.Cleanup(inner.Close)
	outer := httptest.NewServer(http.RedirectHandler(inner.URL+"/x.wasm", http.StatusFound))
	t.Cleanup(outer.Close)
	file := filepath.Join(t.TempDir(), "speaker.wasm")
	put(t, file, speaker("Speaks.", "one"))
	speaks := hub.source("acme/speaker", "1")
	here := hostOf(hub.url)
	for name, c := range map[string]struct{ plugins, sources, host, want, hint string }{
		"private host":     {`a: {url: "` + inner.URL + `/x.wasm"}`, "", "", "which is refused", "--host " + "127.0.0.1"},
		"private registry": {`a: {url: "` + speaks + `"}`, "", "", "which is refused", "--host " + "127.0.0.1"},
		"private redirect": {`a: {url: "` + outer.URL + `/x.wasm"}`, "", hostOf(outer.URL), "which is refused", "--host " + "127.0.0.1"},
		"metadata":         {`a: {url: "https://169.254.169.254/x.wasm"}`, "", "", "which is refused", ""},
		"not encrypted":    {`a: {url: "http://x.example/x.wasm"}`, "", "", "is not encrypted: use https://", ""},
		"a password":       {`a: {url: "https://u:p@x.example/x.wasm"}`, "", "", "has a password in it", ""},
		"no scheme":        {`a: {url: "ftp://x.example/x.wasm"}`, "", "", "is no scheme of a source", ""},
		"other machine":    {`a: {url: "file://relative/x.wasm"}`, "", "", "names no file of this machine", ""},
		"a device":         {`a: {url: "file:///dev/zero"}`, "", "", "not installed", ""},
		"no module":        {`a: {url: "` + hub.source("acme/page", "1") + `"}`, "", here, "not a WebAssembly module", ""},
		"no tag":           {`a: {url: "` + hub.source("acme/speaker", "2") + `"}`, "", here, "has no such plugin", ""},
		"wrong digest":     {`a: {url: "` + speaks + "@sha256:" + strings.Repeat("0", 64) + `"}`, "", here, "has no such plugin", ""},
		"other letters":    {`wеather: {url: "` + file + `"}`, "", "", "U+0435", "--name NAME installs it under a name"},
		"other registry":   {`a: {url: "oci://ghcr.io/аcme/x:1"}`, "", "", "U+0430", ""},
		"a taken name":     {`taken: {url: "` + file + `"}`, "", "", "the name taken belongs to the file", "--name NAME installs it under a name"},
		"a like name":      {`takcn: {url: "` + file + `"}`, "", "", "", ""},
		"looks like it":    {`ta_ken: {url: "` + file + `"}`, "", "", "the name ta_ken looks like taken", "--name NAME installs it under a name"},
		"the host's name":  {`sallyport: {url: "` + file + `"}`, "", "", "is the host's own", ""},
		"refused source":   {`a: {url: "` + file + `"}`, "sources: {'**': refuse}\n", "", "the configuration refuses this source", "sources: in"},
		"unsigned":         {`a: {url: "` + file + `"}`, "sources: {'**': {minisign: RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3}}\n", "", "it is not signed", "sources: in"},
		"a signer": {`a: {url: "` + speaks + `"}` + "\noci: {cert_issuer: 'https://i', cert_email: a@b}", "", here,
			"hyper-mcp requires a signature of a@b, and no line of sources: does", `sources: {"` + speaks + `": {require: {issuer: "https://i", identity: "a@b"}}}`},
		"a bad pattern": {`a: {url: "` + file + `", runtime_config: {skip_tools: ["x("]}}`, "", "", "error parsing regexp", ""},
	} {
		a := newAdded(t)
		put(t, filepath.Join(a.home, "sallyport.yaml"), []byte("# mine\n"+c.sources))
		if err := os.Mkdir(a.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(a.dir, "taken.ts"), nil)
		config := filepath.Join(t.TempDir(), "config.yaml")
		put(t, config, []byte("plugins:\n  "+c.plugins+"\n"))
		cmd := a.program("import", "hyper-mcp", config, a.dir, "--client", "none")
		if c.host != "" {
			cmd.Args = append(cmd.Args, "--host", c.host)
		}
		want, hint := c.want, c.hint
		if want == "" { // it is fetched, and nobody can be asked
			want, hint = "there is no terminal to ask at", "a person answers this"
		}
		cmd.Stdin, cmd.SysProcAttr = strings.NewReader("y\ny\n"), &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), hint) {
			t.Errorf("%s: got %v, %s, want %q and %q", name, err, out, want, hint)
		}
		left, err := filepath.Glob(filepath.Join(a.home, "state", "incoming-*"))
		written, readErr := os.ReadFile(filepath.Join(a.home, "sallyport.yaml"))
		if a.files() != "taken.ts" || len(left) != 0 || err != nil || readErr != nil || string(written) != "# mine\n"+c.sources {
			t.Errorf("%s: got files %q, %q and configuration %q, want no trace", name, a.files(), left, written)
		}
	}
}

// A component is fetched and named with the commands that its policy equals, and a core module is installed with them.
func TestImport_namesTheComponentsOfWassette(t *testing.T) {
	a, hub := newAdded(t), newOCIServer(t)
	hub.push("acme/get-time", "1", []byte(component))
	dir := t.TempDir()
	put(t, filepath.Join(dir, "weather-js.wasm"), []byte(component))
	put(t, filepath.Join(dir, "weather-js.policy.yaml"), []byte("permissions:\n  network: {allow: [{host: api.example.com}]}\n  environment: {allow: [{key: K}]}\n  resources: {limits: {memory: 32Mi}}\n"))
	put(t, filepath.Join(dir, "core.wasm"), speaker("Speaks.", "one"))
	put(t, filepath.Join(dir, "core.policy.yaml"), []byte("permissions: {storage: {allow: [{uri: 'fs:///srv/x', access: [read]}]}}\n"))

	screen, out, code := typing(t, a.program("import", "wassette", dir, a.dir), "y", "y")
	if code != exitTool || a.files() != "core.wasm" || !strings.Contains(screen, "# permissions.storage.allow has fs:///srv/x") {
		t.Fatalf("got code %d and files %q, %s, want the core module alone\n%s", code, a.files(), out, screen)
	}
	for _, want := range []string{"granted   fs: read /srv/x/**", "weather_js is not installed; its policy, for a core module of that name:\n  sallyport grant weather_js 'net: ",
		"  limits: {memory: 32MiB}\n", "weather-js: not installed: this is a WebAssembly component; build a core module instead", "hint: build a core module, then sallyport add FILE --name weather_js",
		"weather-js.policy.yaml:3: permissions.environment.allow: K is not carried over"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	from := hub.source("acme/get-time", "1")
	if out, err := a.program("import", "wassette", from, a.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "get-time: not installed: this is a WebAssembly component") {
		t.Errorf("%s: got %s, %v, want the component named", from, out, err)
	}
	put(t, filepath.Join(a.home, "sallyport.yaml"), []byte("sources: {'**': refuse}\n"))
	if out, err := a.program("import", "wassette", from, a.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "the configuration refuses this source") {
		t.Errorf("%s: got %s, %v, want the source refused", from, out, err)
	}
}
