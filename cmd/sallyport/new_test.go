package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/shellword"
)

func TestNew_listsWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out strings.Builder
	if err := listLanguages(stdio{out: &out}, projects()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"c              missing: clang: apt install clang; wasm-ld: apt install lld\n",
		"rust           missing: cargo: rustup, or apt install cargo; rustc: ",
		"python         needs no tools\n",
		"ts             needs no tools\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", out.String(), want)
		}
	}
}

// A project in a language whose tools are missing says so when it is written. A path with blanks is one word of the
// commands to type.
func TestNew_saysWhatIsMissingAndQuotesItsFolder(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	above := filepath.Join(t.TempDir(), "my work")
	if err := os.Mkdir(above, 0o700); err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string][]string{"c": {"missing: clang: ", "make -C "}, "ts": {"sallyport serve "}} {
		var out strings.Builder
		dir := filepath.Join(above, lang)
		if err := writeProject(stdio{out: &out}, dir, projects()[lang]); err != nil {
			t.Fatal(err)
		}
		want[len(want)-1] += shellword.Quoted(dir)
		wantInOrder(t, lang, out.String(), want)
	}
}

// A new script passes its test, and a module that is built of it leaves it in service.
func TestNew_scriptPassesItsTestAndIsServedBesideItsModule(t *testing.T) {
	t.Parallel()
	shell := shellIn(t, t.TempDir())
	for lang, ext := range map[string]string{"ts": "ts", "js": "js", "python": "py"} {
		name := "mine_" + lang
		file := name + "." + ext
		wantInOrder(t, "new", shell("sallyport new "+name+" --lang "+lang), []string{"wrote " + name + "/" + name + ".cases.yaml\n", "sallyport test " + name + "/" + file + "\n"})
		wantInOrder(t, "test", shell("cd "+name+" && sallyport test "+file), []string{"1 case passed"})
		wantInOrder(t, "build", shell("cd "+name+" && sallyport build "+file), []string{"built build/" + name + ".wasm"})
		wantInOrder(t, "build -o", shell("cd "+name+" && sallyport build "+file+" -o 'my build.wasm'"), []string{"sallyport pack 'my build.wasm'"})
		wantInOrder(t, "list", shell("rm "+name+"/my*.wasm && sallyport list "+name), []string{name, "loaded", "1 tool"})
	}
}

// A new user of Go needs no more than Go and make: no clone, and no network.
func TestNew_goProjectBuildsAndPassesItsTests(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	shell := shellIn(t, t.TempDir())
	out := shell("sallyport new mine --lang go && make -C mine test && cd mine && go test . && sallyport call mine.wasm hello '{\"name\": \"Ada\"}' --text")
	wantInOrder(t, "new", out, []string{"wrote mine/main.go\n", "make -C mine test\n", "ok  \texample.com/mine", "Hello, Ada!"})
}

// An author of the library tries it as it is in a clone.
func TestNew_goProjectTakesTheLibraryOfAClone(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	library, err := filepath.Abs(filepath.Join("..", "..", "pdk", "go"))
	if err != nil {
		t.Fatal(err)
	}
	shell := shellIn(t, t.TempDir())
	if out := shell("sallyport new mine --lang go --pdk " + library + " && cd mine && ls && go list -m -f '{{.Dir}}' all"); strings.Contains(out, "sallyport\n") || !strings.Contains(out, library+"\n") {
		t.Errorf("got %s, want no library inside, and that of %s", out, library)
	}
}

func TestNew_helloHasUnderTenLines(t *testing.T) {
	for file, want := range map[string]int{"ts/NAME.ts": 2, "js/NAME.js": 2, "python/NAME.py": 8, "go/main.go": 9, "rust/src/lib.rs": 6, "c/NAME.c": 5, "zig/NAME.zig": 7, "assemblyscript/assembly/index.ts": 3} {
		lang, name, _ := strings.Cut(file, "/")
		got := 0
		for line := range strings.Lines(projects()[lang].files[name]) {
			if strings.TrimSpace(line) != "" {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: got %d lines that are not blank, want %d", file, got, want)
		}
	}
}
