package foreign

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// hyper reads a configuration.
func hyper(t testing.TB, config, dir string) ([]*Plugin, []Remark, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := settings.Tree(file)
	if err != nil {
		return nil, nil, err
	}
	return HyperMCP(root, dir)
}

// mustHyper reads a configuration, with all remarks as text.
func mustHyper(t testing.TB, config, dir string) ([]*Plugin, string) {
	t.Helper()
	all, remarks, err := hyper(t, config, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		remarks = append(remarks, p.Remarks...)
	}
	return all, remarksText(remarks)
}

func remarksText(all []Remark) (text string) {
	for _, r := range all {
		text += fmt.Sprintf("%d: %s\n", r.Line, r.Text)
	}
	return text
}

// grants returns the lines of a plugin as a set.
func grants(t testing.TB, p *Plugin) *grant.Set {
	t.Helper()
	var all []grant.Grant
	for _, l := range p.Grants {
		g, err := grant.ParseLine(l.Line)
		if err != nil {
			t.Fatalf("%s: got %v, want a line that is read", l.Line, err)
		}
		all = append(all, g)
	}
	return grant.NewSet(all...)
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
      skip_tools: ["debug", "temp_.*", "^old"]
      skip_resources: ["secret.*"]
      env_vars: {LANG: "en \"US\"", "A=B": "c", HOME_DIR: "${HOME}"}
      memory_limit: "512Mi"
      timeout: 5
  rest:
    url: s3://bucket/rest.wasm
`

func TestHyperMCP_readsPluginsWithRemarks(t *testing.T) {
	all, told := mustHyper(t, example, "/etc")
	if len(all) != 3 || all[0].Source != "oci://ghcr.io/hyper-mcp-rs/time-plugin:latest" || all[1].Source != "file:///opt/fetch.wasm" || all[1].Memory != "512MiB" {
		t.Fatalf("got %+v, want three plugins with their sources", all)
	}
	lines := grants(t, all[1]).String()
	for _, line := range []string{
		"net: DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT https://**\n", "net: DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT https://api.example.com/**\n",
		"fs: write /tmp/x/**\n", `config: {HOME_DIR: "${HOME}", LANG: "en \"US\""}`,
	} {
		if !strings.Contains(lines, line) {
			t.Errorf("grants: got\n%s\nwant %s in it", lines, line)
		}
	}
	for _, g := range all[1].Grants {
		told += g.Why + "\n"
	}
	for _, part := range []string{
		"2: auths: not carried over",
		"allowed_hosts has *; narrowed to https on its usual port, and to redirects to granted hosts; wildcards reach no private or loopback address",
		`12: plugins.fetch.runtime_config.allowed_hosts: {a,b}.example is not carried over: "{a,b}.example" is not a name with stars`,
		"allowed_paths has /tmp/x; narrowed: links that lead out of it are not followed",
		`16: plugins.fetch.runtime_config.allowed_paths: relative is not carried over: "relative" depends on where the host was started`,
		"18: plugins.fetch.runtime_config.allowed_secrets: not carried over",
		`21: plugins.fetch.runtime_config.env_vars.A=B: not carried over: config name "A=B" cannot be in an environment`,
		"21: plugins.fetch.runtime_config.env_vars.HOME_DIR: taken as it is written",
		"23: plugins.fetch.runtime_config.timeout: not known, not carried over",
	} {
		if !strings.Contains(told, part) {
			t.Errorf("remarks: got\n%s\nwant %q in it", told, part)
		}
	}
	if err := all[2].Err; err == nil || !strings.Contains(err.Error(), "s3 is not read here: save the module") {
		t.Errorf("s3: got %v, want it refused with the step to take", err)
	}
}

// Each pattern keeps its meaning, and is resolved with the names that the plugin offers.
func TestHidden_resolvesEachPattern(t *testing.T) {
	offer := Offer{Tools: []string{"temp_a", "a_temp_b", "old_one", "not_old"}, Prompts: []string{"p1", "p2"},
		Resources: [][2]string{{"secrets", "x://s"}, {"open", "x://o"}}, Templates: [][2]string{{"t", "x://{t}"}}}
	all, _ := mustHyper(t, `{"plugins":{"a":{"url":"file:///a.wasm","runtime_config":{"skip_tools":["debug","temp_.*","^old"],
		"skip_prompts":["p[12]"],"skip_resources":["secret.*"],"skip_resource_templates":["x://.*"],"memory_limit":null}}}}`, "/")
	hidden, remarks, err := all[0].Hidden(offer)
	if got := strings.Join(hidden, " "); err != nil || got != "debug old_one p1 p2 temp_a x://s x://{t}" {
		t.Errorf("got hidden %q, %v, want debug old_one p1 p2 temp_a x://s x://{t}", got, err)
	}
	if told := remarksText(remarks); !strings.Contains(told, `1: plugins.a.runtime_config.skip_tools: "temp_.*" stands for temp_a now; names that come later are not hidden`) {
		t.Errorf("got remarks %s, want one for each pattern", told)
	}
}

// A plugin that would publish more than before cannot be installed.
func TestHyperMCP_failsAPluginWithABadPattern(t *testing.T) {
	for list, want := range map[string]string{
		`["ok", "x("]`: `plugins.a.runtime_config.skip_tools: "x(": error parsing regexp`,
		`["` + strings.Repeat("a{9}", 257) + `"]`:        "each of at most 1024 bytes",
		`["a"` + strings.Repeat(`,"a"`, maxGrants) + `]`: "want a list of at most 256 patterns",
		`["` + strings.Repeat("(a{99}){9}", 100) + `"]`:  "",
		`"all"`:      "want a list of patterns",
		`{"a": "b"}`: "want a list of patterns",
		`[["a"]]`:    "want a list of at most",
		`null`:       "",
		`[], "allowed_hosts": ["a"` + strings.Repeat(`,"a"`, maxGrants) + `]`: "it has 257 hosts and paths, and at most 256 are asked about",
	} {
		all, _ := mustHyper(t, `{"plugins":{"a":{"url":"file:///a.wasm","runtime_config":{"skip_tools":`+list+`}}}}`, "/")
		err := all[0].Err
		if err == nil {
			_, _, err = all[0].Hidden(Offer{})
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: got %v, want %q", list, err, want)
		}
	}
}

// Older versions had a list of plugins, with names that are invalid here.
func TestHyperMCP_readsListsOfOlderVersions(t *testing.T) {
	all, told := mustHyper(t, `{"plugins":[{"name":"qr-code","path":"qr.wasm"},{"name":"b","path":"https://x.example/b.wasm"},{"name":"c","path":"file:/c.wasm"}]}`, "/srv")
	if len(all) != 3 || all[0].Name != "qr-code" || all[0].Source != "/srv/qr.wasm" || all[1].Source != "https://x.example/b.wasm" || all[2].Source != "file:///c.wasm" ||
		!strings.Contains(told, "taken to be /srv/qr.wasm") {
		t.Errorf("got %+v\n%s\nwant the three sources", all, told)
	}
}

func TestHyperMCP_readsMemoryLimits(t *testing.T) {
	for in, want := range map[string]int64{"512Mi": 512 << 20, "256MB": 256e6, "1GB": 1e9, "64": 64, "1.5KiB": 1536, "2gib": 2 << 30, "9TB": 4 << 30, "lots": 0, "-1": 0} {
		all, _ := mustHyper(t, `{"plugins":{"a":{"url":"file:///a.wasm","runtime_config":{"memory_limit":"`+in+`"}}}}`, "/")
		got := int64(0)
		if all[0].Memory != "" {
			var err error
			if got, err = grant.ParseSize(all[0].Memory); err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Errorf("%s: %d, want %d", in, got, want)
		}
	}
}

// An identity that hyper-mcp requires is one of each image; none is required by a configuration that names no identity.
func TestHyperMCP_readsTheRequiredSigner(t *testing.T) {
	const plugins = `"plugins":{"a":{"url":"oci://ghcr.io/a/b:1"},"b":{"url":"file:///b.wasm"}}}`
	for oci, want := range map[string]Signer{
		`{"cert_issuer":"https://i","cert_email":"a@b","use_sigstore_tuf_data":true}`:   {"https://i", "a@b"},
		`{"cert_issuer":"https://i","cert_url":"https://u"}`:                            {"https://i", "https://u"},
		`{"cert_issuer":"https://i","cert_email":"a@b","insecure_skip_signature":true}`: {},
		`{"cert_email":"a@b"}`: {}, `{}`: {}, `{"fulcio_certs":"/f","rekor_pub_keys":"/r","x":1}`: {},
	} {
		all, told := mustHyper(t, `{"oci":`+oci+`,`+plugins, "/")
		if all[0].Signer != want || all[1].Signer != (Signer{}) || (want == Signer{}) != strings.Contains(told, "oci: no identity is required") {
			t.Errorf("%s: got %+v and %+v, %s, want %+v for the image", oci, all[0].Signer, all[1].Signer, told, want)
		}
	}
}

func TestHyperMCP_namesTheLineAtFault(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"name":"a","path":"x"},`, maxPlugins+1), ",")
	for config, want := range map[string]string{
		``:                                       "line 1: the configuration has no plugins",
		`{}`:                                     "line 1: the configuration has no plugins",
		`{"plugins": 1}`:                         "line 1: plugins: want a map of names to settings",
		`{"plugins": {"a": 1}}`:                  "line 1: a plugin has a name of at most 128 bytes and a url",
		`{"plugins": {"a": {}}}`:                 `line 1: plugin "a" has no url`,
		`{"plugins": [{"path": "x"}]}`:           "line 1: a plugin has a name of at most 128 bytes and a url",
		`{"plugins": {"-": {"url": "file:/x"}}}`: "has no letter or digit",
		`{"plugins": {"` + strings.Repeat("a", 129) + `": {"url": "file:/x"}}}`: "a name of at most 128 bytes",
		`{"plugins": [` + many + `]}`:                                           "the configuration has 257 plugins, and at most 256 are read",
		"plugins:\n  a-b: {url: 'file:///a'}\n  a_b: {url: 'file:///a'}":        `line 3: two plugins would be called "a_b"`,
		"plugins:\n  a: {url: 'file:///a'}\n  A: {url: 'file:///a'}":            `line 3: two plugins would be called "a"`,
		`{"plugins": {"a": {"url": "file:///a"}, "a": {}}}`:                     `key "a" is already on line 1`,
	} {
		if _, _, err := hyper(t, config, "/"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", config, err, want)
		}
	}
}

// A path of Windows that leads to another machine is not followed: a login would be sent to it.
func TestHyperMCP_refusesSharesOfOtherMachines(t *testing.T) {
	for _, value := range []string{`\\evil.example\share\p.wasm`, `//evil.example/share/p.wasm`, `\/evil.example/share/p.wasm`, `\\?\UNC\evil.example\share\p.wasm`} {
		for _, key := range []string{"url", "path"} {
			raw, err := json.Marshal(map[string]any{"plugins": map[string]any{"a": map[string]string{key: value}}})
			if err != nil {
				t.Fatal(err)
			}
			all, _ := mustHyper(t, string(raw), "/")
			if all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "a share of another machine") || all[0].Source != "" {
				t.Errorf("%s: %s: got %+v, want it refused", key, value, all[0])
			}
		}
	}
}

// FuzzHyperMCP: the grants and the limit of every plugin that is read are valid.
func FuzzHyperMCP(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"plugins":[{"name":"qr-code","path":"qr.wasm","runtime_config":{"env_vars":{"a":"\u007f"},"allowed_hosts":["*"]}}]}`))
	f.Fuzz(func(t *testing.T, config []byte) {
		all, _, err := hyper(t, string(config), "/srv")
		if err != nil {
			return
		}
		for _, p := range all {
			grants(t, p)
			if _, err := grant.ParseSize(p.Memory); p.Memory != "" && err != nil {
				t.Errorf("memory: got %q, %v, want a size", p.Memory, err)
			}
			if p.Source == "" && p.Err == nil {
				t.Errorf("got %+v, want a source or an error", p)
			}
		}
	})
}

// A wildcard host matches subdomains only, and a variable without a value is dropped.
func TestHyperMCP_isNoWider(t *testing.T) {
	all, told := mustHyper(t, `{"plugins":{
		"a":{"url":"file:///opt/a.wasm","runtime_config":{"allowed_hosts":["*.example.com"],"env_vars":{"X":null,"Y":"null","Z":"~"}}}}}`, "/etc")
	set := grants(t, all[0])
	for address, want := range map[string]bool{"https://a.example.com/": true, "https://a.b.example.com/x": true, "https://example.com/": false, "https://xexample.com/": false} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if set.Net("GET", u).Allowed != want {
			t.Errorf("%s is allowed: %v", address, !want)
		}
	}
	if got := set.Lines().Config(); len(got) != 2 || got["Y"] != "null" || got["Z"] != "~" {
		t.Errorf("got variables %v, want Y null and Z ~", got)
	}
	if !strings.Contains(told, `env_vars.X: not carried over: it has no value`) {
		t.Errorf("remarks: got %s, want the variable without a value", told)
	}
}
