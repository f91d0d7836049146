package extismfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	sdk "github.com/extism/go-sdk"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

// pick returns one of the texts.
func pick(r *rand.Rand, texts ...string) string { return texts[r.IntN(len(texts))] }

// generated returns a manifest as authors and their tools write them, and as they do not.
func generated(r *rand.Rand) string {
	module := func() string {
		return pick(r, `{"path":"a.wasm"}`, `{"path":"./sub/a.wasm","name":"main"}`, `{"url":"https://a.example/a.wasm","hash":"`+hash+`"}`, `{"url":"https://a.example/a","method":"POST","headers":{"a":"b"}}`,
			`{"data":"AGFzbQEAAAA="}`, `{"data":"AGFzbQEAAAA=","hash":"`+hash+`","path":"a.wasm"}`, `{"path":"a.wasm","url":"https://a.example"}`, `{"path":"","url":"https://a.example/b"}`,
			`{"path":"a.wasm","hash":"`+strings.ToUpper(hash)+`"}`, `{"path":"a.wasm","hash":"beef"}`, `{}`, `{"data":"?"}`, `{"data":""}`, `{"path":1}`, `[]`, `1`, `null`, `{"path":"a.wasm","x":1}`, `{"Path":"a.wasm"}`)
	}
	modules := []string{module()}
	for r.IntN(6) == 0 {
		modules = append(modules, module())
	}
	members := []string{`"wasm":[` + strings.Join(modules, ",") + `]`}
	for _, choices := range [][]string{
		{`"config":{}`, `"config":null`, `"config":{"k":"v","é":"\u0000"}`, `"config":{"k":1}`, `"config":[]`, `"config":{"a b":"x"}`, `"config":{"k":"1","K":"2"}`},
		{`"memory":{}`, `"memory":{"max_pages":7}`, `"memory":{"max_pages":-1}`, `"memory":{"max_pages":5000000000}`, `"memory":{"max_http_response_bytes":5}`, `"memory":{"max_var_bytes":0}`, `"memory":null`, `"memory":{"max_pages":1.5}`},
		{`"timeout_ms":0`, `"timeout_ms":1500`, `"timeout_ms":-1`, `"timeout_ms":"1"`, `"timeout_ms":18446744073709551615`, `"timeout_ms":null`},
		{`"allowed_hosts":[]`, `"allowed_hosts":["a.example","*.b.example"]`, `"allowed_hosts":null`, `"allowed_hosts":"*"`, `"allowed_hosts":[1]`},
		{`"allowed_paths":{}`, `"allowed_paths":{"/srv":"/srv","ro:/x":"/y"}`, `"allowed_paths":null`, `"allowed_paths":["/srv"]`},
		{`"x":1`, `"metadata":{"a":"b"}`, `"Config":{"k":"w"}`, `"timeout_MS":1`},
	} {
		if r.IntN(2) == 0 {
			members = append(members, pick(r, choices...))
		}
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// ours are the refusals of manifests that the Extism SDK reads: each names a rule of this host.
func ours() []string {
	return []string{"is not a SHA-256 of 64 hex digits", "modules, which is not served here", ": write \"", `it has no list "wasm"`}
}

// A manifest means what it means to the Extism SDK: the same module, values and limits, or an error that names the rule
// of this host.
func TestParse_readsManifestsAsTheSDK(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	read, refused := 0, map[string]int{}
	for range 5000 {
		text := generated(r)
		var want sdk.Manifest
		bad := json.Unmarshal([]byte(text), &want)
		m, err := Parse([]byte(text))
		switch {
		case bad != nil && err == nil:
			t.Fatalf("%s: got it read, and the SDK says %v", text, bad)
		case err == nil:
			read++
			if got, want := means(m, text), meant(&want); got != want {
				t.Fatalf("%s:\ngot  %s\nwant %s", text, got, want)
			}
		case bad == nil:
			rule := ""
			for _, known := range ours() {
				if strings.Contains(err.Error(), known) {
					rule = known
				}
			}
			if refused[rule]++; rule == "" {
				t.Fatalf("%s: got %v, and the SDK reads it", text, err)
			}
		}
	}
	if read < 300 || len(refused) < 3 {
		t.Errorf("got %d manifests read, and refusals %v, want more of each", read, refused)
	}
}

// means describes a manifest as this host reads it.
func means(m *Manifest, text string) string {
	var data []byte
	if m.Inline {
		var raw struct{ Wasm []struct{ Data []byte } }
		if err := json.Unmarshal([]byte(text), &raw); err == nil {
			data = raw.Wasm[0].Data
		}
	}
	return fmt.Sprintf("%q %q %x %s %v %d %v", m.Path, m.URL, data, m.Digest, m.Config, m.Memory, m.Timeout)
}

// meant describes a manifest as the SDK reads it. Values that no variable can have are left out.
func meant(m *sdk.Manifest) string {
	var path, url, sum string
	var data []byte
	switch w := m.Wasm[0].(type) {
	case sdk.WasmFile:
		path, sum = w.Path, w.Hash
	case sdk.WasmUrl:
		url, sum = w.Url, w.Hash
	case sdk.WasmData:
		data, sum = bytes.Clone(w.Data), w.Hash
	}
	if sum != "" {
		sum = "sha256:" + strings.ToLower(sum)
	}
	config := map[string]string{}
	maps.Copy(config, m.Config)
	maps.DeleteFunc(config, func(name, value string) bool { return grant.CheckConfig(name, value) != "" })
	timeout := time.Duration(min(m.Timeout, maxTimeout)) * time.Millisecond
	return fmt.Sprintf("%q %q %x %s %v %d %v", path, url, data, sum, config, uint64(m.Memory.MaxPages)<<16, timeout)
}
