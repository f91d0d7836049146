package registry

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/registry/lock"
)

// inlineManifest writes an Extism manifest with a module in it.
func inlineManifest(t testing.TB, dir string, wasm []byte, rest string) string {
	t.Helper()
	return writeFile(t, dir, "greeter.json", []byte(`{"wasm":[{"data":"`+base64.StdEncoding.EncodeToString(wasm)+`"`+rest))
}

// A module in a manifest is a plugin as one beside it is: watched, checked against its hash, and held when it changes.
func TestExtismFile_servesTheModuleInIt(t *testing.T) {
	f := newLockedFolder(t)
	one, two := sayer("one").wasm(), sayer("two").wasm()
	inlineManifest(t, f.dir, one, `}],"config":{"k":"v"}}`)
	r := f.start(lock.Options{})
	if got, err := callText(t, r, "greeter-say", catalog.Call{}); err != nil || got != "one" {
		t.Fatalf("got %q %v, want \"one\"", got, err)
	}
	if s := status(r, "greeter"); filepath.Base(s.File) != "greeter.json" || s.Digest != fileid.Digest(one) || len(r.Plugins()) != 2 {
		t.Errorf("got %+v, want the digest of the module, and the host's own plugin beside it", r.Plugins())
	}
	inlineManifest(t, f.dir, two, `}],"config":{"k":"v"}}`)
	eventually(t, "the changed module is held", func() bool { return status(r, "greeter").Waits == fileid.Digest(two) })
	if got, err := callText(t, r, "greeter-say", catalog.Call{}); err != nil || got != "one" {
		t.Errorf("held: got %q %v, want the approved module", got, err)
	}
	closeNow(t, r)
	r = f.start(lock.Options{})
	if got, err := callText(t, r, "greeter-say", catalog.Call{}); err != nil || got != "one" {
		t.Errorf("after a start: got %q %v, want the approved module", got, err)
	}
}

func TestExtismFile_checksTheHashOfTheModuleInIt(t *testing.T) {
	dir := t.TempDir()
	inlineManifest(t, dir, sayer("one").wasm(), `,"hash":"`+strings.Repeat("0", 64)+`"}]}`)
	r := open(t, options(t, dir))
	if s := status(r, "greeter"); !strings.Contains(s.Error, "and the manifest wants sha256:0000") || has(r, "greeter-say") {
		t.Errorf("got %+v, want it refused", s)
	}
	inlineManifest(t, dir, []byte("\x00asm nothing"), `}]}`)
	eventually(t, "a broken module is an error", func() bool { return strings.Contains(status(r, "greeter").Error, "module") })
}

// A host never fetches a module: it names the command that does.
func TestExtismFile_fetchesNothingByItself(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "greeter.json", []byte(`{"wasm":[{"url":"http://127.0.0.1:1/m.wasm","hash":"`+strings.Repeat("0", 64)+`"}]}`))
	r := open(t, options(t, dir))
	if s := status(r, "greeter"); !strings.Contains(s.Error, "sallyport add --replace "+filepath.Join(dir, "greeter.json")) {
		t.Errorf("got %+v, want the command that fetches it", s)
	}
}
