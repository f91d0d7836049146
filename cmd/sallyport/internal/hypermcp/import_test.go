package hypermcp

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
)

// imported imports a configuration and loads the result.
func imported(t testing.TB, config string, o Options) (string, []Remark, *settings.Settings) {
	t.Helper()
	text, remarks, err := tryImport(t, config, o)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sallyport.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(settings.Options{File: file})
	if err != nil {
		t.Fatalf("load: got %v, want success\n%s", err, text)
	}
	return text, remarks, s
}

func tryImport(t testing.TB, config string, o Options) (string, []Remark, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := settings.Tree(file)
	if err != nil {
		return "", nil, err
	}
	return Import(root, o)
}

const example = `auths:
  "https://private.example":
    type: basic
    username: "u"
    password: "p"
plugins:
  time:
    url: oci://ghcr.io/hyper-mcp-rs/time-plugin:latest
  fetch:
    url: file:///opt/fetch.wasm
    runtime_config:
      allowed_hosts: ["*", "api.example.com", "{a,b}.example"]
      allowed_paths:
        - "/tmp/x"
        - "/var/log:/plugin/logs"
        - "relative"
      allowed_secrets:
        - {service: s, user: u}
      skip_tools: ["debug", "temp_.*", "x(", "^old"]
      skip_resources: ["secret.*"]
      env_vars: {LANG: "en \"US\"", "A=B": "c", HOME_DIR: "${HOME}"}
      memory_limit: "512Mi"
`

func TestImport_convertsWithRemarks(t *testing.T) {
	asked := ""
	text, remarks, s := imported(t, example, Options{Dir: "/etc", Offer: func(file string) (Offer, error) {
		asked = file
		return Offer{Tools: []string{"temp_a", "a_temp_b", "old_one", "debug", "fetch"}, Resources: [][2]string{{"secrets", "x://s"}, {"open", "x://o"}}}, nil
	}})
	const want = `plugins:
  time:
    disabled: true # until sallyport add installed it
  fetch:
    source: "/opt/fetch.wasm"
    disabled: true # its published tools differ from hyper-mcp's
    limits: {memory: 512MiB}
    publish:
      hide:
        - "debug"
        - "temp_a"
        - "old_one"
        - "x://s"
    grants:
`
	if !strings.HasPrefix(text, want) {
		t.Errorf("got %s, want %q at its start", text, want)
	}
	grants := s.Plugins[1].Grants.String()
	for _, line := range []string{
		"net: DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT https://**\n", "net: DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT https://api.example.com/**\n",
		"fs: write /tmp/x/**\n", `config: {HOME_DIR: "${HOME}", LANG: "en \"US\""}`,
	} {
		if !strings.Contains(grants, line) {
			t.Errorf("grants: got\n%s\nwant %s in it", grants, line)
		}
	}
	told := ""
	for _, r := range remarks {
		told += fmt.Sprintf("%d: %s\n", r.Line, r.Text)
	}
	for _, part := range []string{
		"2: auths: not carried over",
		"8: plugins.time.url: oci://ghcr.io/hyper-mcp-rs/time-plugin:latest is not fetched here: sallyport add oci://ghcr.io/hyper-mcp-rs/time-plugin:latest --name time shows and installs it; then remove the line disabled",
		"12: plugins.fetch.runtime_config.allowed_hosts: * is narrowed to https on its usual port, and redirects are followed to granted hosts only; wildcards reach no private or loopback address",
		`12: plugins.fetch.runtime_config.allowed_hosts: {a,b}.example is not carried over: "{a,b}.example" is not a name with stars`,
		"14: plugins.fetch.runtime_config.allowed_paths: /tmp/x is narrowed: links that lead out of it are not followed",
		`16: plugins.fetch.runtime_config.allowed_paths: relative is not carried over: "relative" depends on where the host was started`,
		"18: plugins.fetch.runtime_config.allowed_secrets: not carried over",
		`19: plugins.fetch.runtime_config.skip_tools: "temp_.*" stands for temp_a now; names that come later are not hidden`,
		`19: plugins.fetch.runtime_config.skip_tools: "x(" is not carried over: error parsing regexp`,
		`21: plugins.fetch.runtime_config.env_vars.A=B: not carried over: config name "A=B" cannot be in an environment`,
		"21: plugins.fetch.runtime_config.env_vars.HOME_DIR: taken as it is written",
	} {
		if !strings.Contains(told, part) {
			t.Errorf("remarks: got\n%s\nwant %q in it", told, part)
		}
	}
	if asked != "/opt/fetch.wasm" || len(s.Plugins) != 2 || !s.Plugins[1].Disabled {
		t.Errorf("got %s %+v, want %q, 2", asked, s.Plugins, "/opt/fetch.wasm")
	}
}

// All patterns are resolved before one of them disables the plugin, and each keeps its meaning.
func TestImport_resolvesEachPattern(t *testing.T) {
	offer := func(string) (Offer, error) {
		return Offer{Tools: []string{"temp_a", "a_temp_b", "old_one", "not_old"}, Prompts: []string{"p1", "p2"},
			Resources: [][2]string{{"secrets", "x://s"}, {"open", "x://o"}}, Templates: [][2]string{{"t", "x://{t}"}}}, nil
	}
	_, _, s := imported(t, `{"plugins":{"a":{"url":"file:///a.wasm","runtime_config":{"skip_tools":["temp_.*","^old"],
		"skip_prompts":["p[12]"],"skip_resources":["secret.*"],"skip_resource_templates":["x://.*"],"memory_limit":null}}}}`, Options{Offer: offer})
	p := s.Plugins[0]
	if got := strings.Join(p.Publish.Hide, " "); got != "temp_a old_one p1 p2 x://s x://{t}" || p.Disabled {
		t.Errorf("got hidden %q, disabled %t, want temp_a old_one p1 p2 x://s x://{t}, false", got, p.Disabled)
	}
}

// Older versions had a list of plugins, with names that are invalid here.
func TestImport_readsListsOfOlderVersions(t *testing.T) {
	text, remarks, s := imported(t, `{"plugins":[{"name":"qr-code","path":"qr.wasm"},{"name":"b","path":"https://x.example/b.wasm","runtime_config":{"skip_tools":["a.*"]}}]}`, Options{Dir: "/srv"})
	if s.Plugins[0].Name != "qr_code" || s.Plugins[0].Source != "/srv/qr.wasm" || !s.Plugins[1].Disabled || len(remarks) != 4 {
		t.Errorf("got\n%s\n%+v\nwant qr_code of /srv/qr.wasm, the second disabled, 4 remarks", text, remarks)
	}
}

func TestImport_convertsMemoryLimits(t *testing.T) {
	for in, want := range map[string]int64{"512Mi": 512 << 20, "256MB": 256e6, "1GB": 1e9, "64": 64, "1.5KiB": 1536, "2gib": 2 << 30, "9TB": 4 << 30, "lots": 0, "-1": 0} {
		_, _, s := imported(t, `{"plugins":{"a":{"url":"file:///a.wasm","runtime_config":{"memory_limit":"`+in+`"}}}}`, Options{})
		if got := s.Plugins[0].Limits.Memory; got != want {
			t.Errorf("%s: %d, want %d", in, got, want)
		}
	}
}

func TestImport_namesTheLineAtFault(t *testing.T) {
	for config, want := range map[string]string{
		``:                                       "line 1: the configuration has no plugins",
		`{}`:                                     "line 1: the configuration has no plugins",
		`{"plugins": 1}`:                         "line 1: plugins: want a map of names to settings",
		`{"plugins": {"a": 1}}`:                  "line 1: a plugin has a name and a url",
		`{"plugins": {"a": {}}}`:                 `line 1: plugin "a" has no url`,
		`{"plugins": [{"path": "x"}]}`:           "line 1: a plugin has a name and a url",
		`{"plugins": {"-": {"url": "file:/x"}}}`: "has no letter or digit",
		"plugins:\n  a-b: {url: 'file:///a'}\n  a_b: {url: 'file:///a'}": `line 3: two plugins would be called "a_b"`,
		`{"plugins": {"a": {"url": "file:///a"}, "a": {}}}`:              `key "a" is already on line 1`,
	} {
		if _, _, err := tryImport(t, config, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
}

// FuzzImport: the result of every successful import loads.
func FuzzImport(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"plugins":[{"name":"qr-code","path":"qr.wasm","runtime_config":{"env_vars":{"a":"\u007f"},"allowed_hosts":["*"]}}]}`))
	f.Fuzz(func(t *testing.T, config []byte) {
		if _, _, err := tryImport(t, string(config), Options{Dir: "/srv"}); err == nil {
			imported(t, string(config), Options{Dir: "/srv"})
		}
	})
}

// A wildcard host matches subdomains only, a variable without a value is dropped, and a file URL with a host name is no
// local file.
func TestImport_isNoWider(t *testing.T) {
	text, remarks, s := imported(t, `{"plugins":{
		"a":{"url":"file:///opt/a.wasm","runtime_config":{"allowed_hosts":["*.example.com"],"env_vars":{"X":null,"Y":"null","Z":"~"}}},
		"b":{"url":"file://relative/b.wasm"},
		"c":{"url":"file://localhost/opt/c.wasm"}}}`, Options{Dir: "/etc"})
	u := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	grants := s.Plugins[0].Grants
	for address, want := range map[string]bool{"https://a.example.com/": true, "https://a.b.example.com/x": true, "https://example.com/": false, "https://xexample.com/": false} {
		if grants.Net("GET", u(address)).Allowed != want {
			t.Errorf("%s is allowed: %v", address, !want)
		}
	}
	if got := grants.Lines().Config(); len(got) != 2 || got["Y"] != "null" || got["Z"] != "~" {
		t.Errorf("got variables %v, want Y null and Z ~", got)
	}
	if !s.Plugins[1].Disabled || strings.Contains(text, `"/b.wasm"`) || !strings.Contains(text, `"/opt/c.wasm"`) {
		t.Errorf("got %s, want %q in it", text, `"/opt/c.wasm"`)
	}
	told := fmt.Sprint(remarks)
	for _, part := range []string{`env_vars.X: not carried over: it has no value`, `file://relative/b.wasm names the machine "relative": write file:///PATH`} {
		if !strings.Contains(told, part) {
			t.Errorf("remarks: got %s, want %q in it", told, part)
		}
	}
}
