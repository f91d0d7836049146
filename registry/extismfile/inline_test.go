package extismfile

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadInline_returnsTheModuleInTheManifest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	wasm := bytes.Repeat([]byte("\x00asm"), 1<<20) // more than a manifest without it may have
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"wasm":[{"data":"` + base64.StdEncoding.EncodeToString(wasm) + `"}]}`)
	f, st, err := Read(path)
	if err != nil || f.Err != nil || f.Module != InlineOf(path) {
		t.Fatalf("got %+v, %v, want a module in the manifest", f, err)
	}
	if from, ok := ManifestOf(f.Module); !ok || from != path {
		t.Errorf("got %s, %v, want the manifest", from, ok)
	}
	if got, at, err := ReadInline(path); err != nil || !bytes.Equal(got, wasm) || at != st {
		t.Errorf("got %d bytes, %v, want the module with the stamp of its manifest", len(got), err)
	}
	put(`{"wasm":[{"path":"a.wasm"}]}`)
	if _, _, err := ReadInline(path); err == nil || !strings.Contains(err.Error(), "holds no module any more") {
		t.Errorf("a manifest without a module: got %v, want an error", err)
	}
	for _, other := range []string{"/p/data.wasm", "/p/m.json", "/p/m.json/x.wasm", "data.wasm", ""} {
		if from, ok := ManifestOf(other); ok {
			t.Errorf("%s: got %s, want no manifest", other, from)
		}
	}
}

func TestWith_replacesTheModuleAlone(t *testing.T) {
	for manifest, want := range map[string]string{
		`{"wasm":[{"path":"a.wasm","hash":"` + hash + `","name":"main"}],"config":{"k":"v"},"x":1}`:  `{"wasm":[{"hash":"` + hash + `","name":"main","data":"AGFzbQ=="}],"config":{"k":"v"},"x":1}`,
		`{"timeout_ms":1,"wasm":[{"url":"https://a.example/m","method":"GET","headers":{"a":"b"}}]}`: `{"timeout_ms":1,"wasm":[{"data":"AGFzbQ=="}]}`,
		`{"wasm":[]}`: "", `{"wasm":[{"path":"a"},{"path":"b"}]}`: "", `{"wasm":[1]}`: "", `[]`: "",
	} {
		got, err := With([]byte(manifest), []byte("\x00asm"))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %s, %v, want %s", manifest, got, err, want)
		}
		if want == "" {
			continue
		}
		if m, err := Parse(got); err != nil || !m.Inline {
			t.Errorf("%s: got %+v, %v, want a manifest that holds its module", got, m, err)
		}
	}
	if _, err := With([]byte(`{"wasm":[{"path":"a.wasm"}]}`), make([]byte, maxModule+1)); err == nil {
		t.Error("a module over the limit: got no error")
	}
}
