package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/registry/catalog"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// script is the text of a script with one tool, "run".
func runs(body string) string {
	return `import { tool } from "sallyport"; tool("run", "Runs.", { v: "any?" }, async (args) => {` + body + `});`
}

// writeSource writes a source file, in a folder that may be missing.
func writeSource(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runScript calls the tool run of a script, with arguments in JSON or none, and returns its text or the error.
func runScript(t testing.TB, r *Registry, plugin, arguments string) string {
	t.Helper()
	params := fmt.Appendf(nil, `{"name":"run","arguments":%s}`, arguments)
	text, err := callText(t, r, plugin+"-run", catalog.Call{ID: "1", Params: params})
	if err != nil {
		return err.Error()
	}
	return text
}

// TestScripts loads a folder of scripts once, whose tests are below.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	writeWeb(t, dir)
	writeHostile(t, dir)
	writeSource(t, dir, "p.ts", runs(`const copy = { ...args.v }; return [({} as any).x ?? null, copy.x ?? null, Object.keys(args.v)];`))
	o := options(t, dir)
	o.Defaults = runtime.Limits{Fuel: 20_000_000_000, Deadline: time.Hour}
	r := openWithin(t, o, time.Hour)
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("web API", func(t *testing.T) { testWebAPI(t, r) })
	t.Run("hostile", func(t *testing.T) { testHostile(t, r) })
	t.Run("arguments do not pollute prototypes", func(t *testing.T) {
		got, want := runScript(t, r, "p", `{"v":{"__proto__":{"x":1},"constructor":{"prototype":{"x":2}}}}`), `[null,null,["__proto__","constructor"]]`
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// writeWeb writes the script with the cases of the web API.
func writeWeb(t testing.TB, dir string) {
	t.Helper()
	cases, err := os.ReadFile(filepath.Join("testdata", "scripts", "web.js"))
	if err != nil {
		t.Fatal(err)
	}
	writeSource(t, dir, "lib/web.js", string(cases))
	writeSource(t, dir, "web.ts", `import { cases, answer } from "./lib/web.js";`+
		runs(`const all: Record<string, string> = {}; for (const name of Object.keys(cases)) all[name] = await answer(name); return JSON.stringify(all);`))
}

// testWebAPI compares 268 answers of the web API with those of Node. TestClients_webAnswersOfNode makes the answers.
func testWebAPI(t *testing.T, r *Registry) {
	raw, err := os.ReadFile(filepath.Join("testdata", "scripts", "web.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if text := runScript(t, r, "web", "{}"); json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("got %q, want the answers as JSON", text)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: got %s, want %s", name, got[name], want[name])
		}
	}
	if len(got) != len(want) || len(want) < 200 {
		t.Errorf("got %d answers, want %d, and 200 at least", len(got), len(want))
	}
}

// hostile are scripts that attack the host, with a part of the answer, or of the status of a script that cannot serve.
var hostile = []struct{ name, body, want string }{
	{"endless loop", `for (;;);`, "units of fuel"},
	{"endless promises", `for (;;) await null;`, "units of fuel"},
	{"endless regular expression", `return /^(a+)+$/.test("a".repeat(40) + "b");`, "units of fuel"},
	{"endless recursion", `const f = () => f() + 1; return f();`, "RangeError: Maximum call stack size exceeded"},
	{"recursion by getters", `class A { get x() { return new A().x } } return new A().x;`, "RangeError: Maximum call stack size exceeded"},
	{"recursion by a proxy", `const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x;`, "RangeError: Maximum call stack size exceeded"},
	{"recursion by toString", `const o = { toString() { return "" + o } }; return "" + o;`, "RangeError: Maximum call stack size exceeded"},
	{"allocation of blocks", `const all = []; for (;;) all.push(new Uint8Array(1 << 20));`, "InternalError: out of memory"},
	{"allocation of objects", `const all = []; for (;;) all.push({ a: [all.length] });`, ""},
	{"allocation of a string", `let s = "x"; for (;;) s += s;`, "s"},
	{"a huge result", `return "x".repeat(8 << 20);`, ""},
	{"a deep result", `let x = []; for (let i = 0; i < 20000; i++) x = [x]; return x;`, ""},
	{"a promise that never settles", `return new Promise(() => {});`, "nothing is left to settle"},
	{"a thrown text", `throw "no";`, "no"},
	{"a thrown null", `throw null;`, "null was thrown"},
	{"a thrown undefined", `throw undefined;`, "undefined was thrown"},
	{"a thrown symbol", `throw Symbol("s");`, "Symbol(s)"},
	{"a thrown object", `throw { a: 1 };`, `an object that is no error was thrown: {"a":1}`},
	{"a thrown proxy", `throw new Proxy({}, { get() { throw 1 } });`, "an error that has no text was thrown"},
	{"a message that throws", `throw { name: "x", get message() { throw 1 } };`, "an error that has no text was thrown"},
	{"a stack that throws", `const e = new Error("m"); Object.defineProperty(e, "stack", { get() { throw 1 } }); throw e;`, "m"},
	{"a cycle", `const a: any = { b: [1] }; a.b.push(a); return a;`, "an object that contains itself has no JSON, at b[1]"},
	{"a BigInt", `return { a: { b: 1n } };`, "a BigInt has no JSON, at a.b"},
	{"a huge BigInt", `let n = 2n; for (;;) n **= 2n;`, "RangeError: BigInt is too large to allocate"},
	{"a deep JSON text", `return JSON.parse("[".repeat(1e6));`, "RangeError: Maximum call stack size exceeded"},
	{"a member named __proto__", `const o = JSON.parse('{"__proto__":{"a":1}}'); return [o.a ?? null, ({} as any).a ?? null, Object.keys(o)];`, `[null,null,["__proto__"]]`},
	{"a function", `return () => 1;`, "the result is a function, which has no JSON"},
	{"undefined", `return undefined;`, `{"content":[]}`},
	{"not a number", `return { a: NaN };`, `{"a":null}`},
	{"a lone surrogate", `return "a\ud800b";`, "a\ufffdb"},
	{"a lone surrogate in an object", `return { a: "\udc00" };`, "{\"a\":\"\ufffd\"}"},
	{"a toJSON that throws", `return { toJSON() { throw new Error("no JSON") } };`, "no JSON"},
	{"eval", `return [eval("typeof process"), new Function("return typeof require")(), Function("return this")() === globalThis];`, `["undefined","undefined",true]`},
	{"an import at run time", `const path: string = args.v ?? "./secret.js"; return await import(path);`, "secret"},
	{"a file by its URL", `return (await fetch("file:///etc/passwd")).text();`, "file"},
	{"a request without a grant", `return (await fetch("https://example.com/")).text();`, "no grant"},
	{"many requests", `return (await Promise.allSettled(Array.from({ length: 500 }, (_, i) => fetch("https://example.com/" + i)))).length;`, "500"},
	{"many timers", `for (let i = 0; i < 20000; i++) setTimeout(() => {}, 1); return "done";`, "done"},
	{"polluted prototypes", `({}).__proto__.polluted = 1; Object.prototype.toJSON = () => "owned"; Array.prototype.map = () => 1; return "done";`, ""},
	{"broken builtins", `JSON.stringify = () => "x"; JSON.parse = () => 1; globalThis.String = null; globalThis.Array = null; return "done";`, "done"},
	{"broken prototypes", `Promise.prototype.then = null; Array.prototype.every = null; String.prototype.includes = null; return "done";`, "done"},
	{"broken properties", `Object.defineProperty = null; Object.keys = null; Object.prototype.toJSON = () => { throw 1 }; return { a: [1] };`, "broken"},
	{"a broken library", `const l = globalThis[Symbol.for("sallyport")]; for (const k of Object.keys(l)) l[k] = 1; globalThis.Promise = null; return "done";`, "done"},
	{"a reserved result", `return { content: [], task: {}, requestState: "x" };`, ""},
}

// hostileImports are scripts that do harm while they are imported, with a part of their status.
var hostileImports = []struct{ name, text, want string }{
	{"endless", "\nfor (;;) {}", "still runs after 40,000,000 steps"},
	{"rejected", "await Promise.reject(new Error('no'))", "no"},
	{"waiting", "await new Promise(() => {})", "waits at its top level for a promise"},
	{"thrown", "\n  throw new TypeError('x')", "TypeError: x (thrown.ts:2:"},
	{"asking", "await fetch('https://example.com/')", "the host can only be asked during a call"},
	{"drawing", "crypto.randomUUID()", "would be the same in every call"},
	{"silent", "export {}", "registers nothing"},
	{"twice", runs("") + runs(""), `tool \"run\" is registered twice`},
	{"badtype", "import { tool } from 'sallyport'; tool('a', 'b', { c: 'text' }, () => 1)", "is no type: begin with string"},
	{"badschema", "import { tool } from 'sallyport'; tool('a', 'b', { '~standard': { vendor: 'made up' } }, () => 1)", "made up offers no JSON Schema"},
	{"full", "const all = []; for (;;) all.push(new Uint8Array(1 << 20))", "out of memory"},
	{"missing", "import './nowhere'", `missing.ts:1:8: there is no "./nowhere"`},
	{"node", "import fs from 'node:fs'; fs.x", "modules of Node itself are not offered"},
	{"large", strings.Repeat("//", 10<<20), "too large"},
}

// writeHostile writes the hostile scripts, and an honest one.
func writeHostile(t testing.TB, dir string) {
	t.Helper()
	writeSource(t, dir, "honest.js", runs(`globalThis.calls = (globalThis.calls ?? 0) + 1; return "call " + globalThis.calls + ({}).polluted;`))
	for i, h := range hostile {
		writeSource(t, dir, fmt.Sprintf("h%d.ts", i), runs(h.body))
	}
	for _, h := range hostileImports {
		writeSource(t, dir, h.name+".ts", h.text)
	}
}

// testHostile calls each hostile script twice: it gets a sentence, and harms neither the host nor another script nor its
// own next call.
func testHostile(t *testing.T, r *Registry) {
	for i, h := range hostile {
		plugin := fmt.Sprintf("h%d", i)
		for range 2 { // the second call begins as the first one did
			if got := runScript(t, r, plugin, `{}`); !strings.Contains(got, h.want) || got == "" {
				t.Errorf("%s: got %.300q, want %q", h.name, got, h.want)
			}
		}
		if got := runScript(t, r, "honest", "{}"); got != "call 1undefined" {
			t.Fatalf("after %s: got %q of an honest script, want its first call", h.name, got)
		}
	}
	for _, h := range hostileImports {
		if s := status(r, h.name); s.Error == "" || !strings.Contains(s.Error, strings.ReplaceAll(h.want, `\"`, `"`)) {
			t.Errorf("%s: got status %q, want %q", h.name, s.Error, h.want)
		}
	}
}

// A saved script serves at once; one with an error leaves the old one in service, and the status has the place.
func TestScripts_areReplacedOnSave(t *testing.T) {
	dir := t.TempDir()
	writeSource(t, dir, "p.ts", `import { text } from "./lib/text";`+"\n"+runs(`return "one " + text;`))
	writeSource(t, dir, "lib/text.ts", `export const text: string = "a";`)
	r := open(t, options(t, dir))
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		eventually(t, "says "+want, func() bool { return runScript(t, r, "p", "{}") == want })
	}
	says("one a")
	writeSource(t, dir, "p.ts", `import { text } from "./lib/text";`+"\n"+runs(`return "two " + text;`))
	says("two a")
	writeSource(t, dir, "lib/text.ts", `export const text: string = "b";`)
	says("two b")
	writeSource(t, dir, "p.ts", "let x = 1;\nlet y = ;")
	eventually(t, "the error has its place", func() bool {
		s := status(r, "p")
		return strings.Contains(s.Error, `p.ts:2:9: Unexpected ";"`)
	})
	says("two b")
}
