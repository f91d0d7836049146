package registry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// runsPython is the text of a script in Python with one tool, "run".
func runsPython(body string) string {
	return "from sallyport import *\n\n@tool\ndef run(v=None):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
}

// hostilePython are scripts that attack the host, with a part of the answer.
var hostilePython = []struct{ name, body, want string }{
	{"endless loop", "while True: pass", "units of fuel"},
	{"endless loop that catches", "while True:\n    try: raise ValueError()\n    except BaseException: pass", "units of fuel"},
	{"endless regular expression", `import re; return re.match("(a+)+$", "a" * 40 + "b")`, ""},
	{"deep regular expression", `import re; return re.compile("(" * 100000)`, "RuntimeError: maximum recursion depth exceeded"},
	{"huge regular expression", `import re; return re.compile("((a{9}b){99}c){999}")`, "error: the expression is too large"},
	{"regular expression that remembers", `import re; return str(re.match("(?:a|b)*c", "ab" * 1000000))`, ""},
	{"endless generator", "def g():\n    while True: yield 1\nreturn sum(g())", "units of fuel"},
	{"endless recursion", "def f(): return f() + 1\nreturn f()", "RuntimeError: maximum recursion depth exceeded"},
	{"recursion by repr", "class A:\n    def __repr__(self): return repr(self)\nreturn repr(A())", "RuntimeError: maximum recursion depth exceeded"},
	{"recursion by getattr", "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nreturn A().x", ""},
	{"recursion by a list that holds itself", "a = []; a.append(a); b = []; b.append(b); return a == b", "RuntimeError: maximum recursion depth exceeded"},
	{"recursion of a sort key", "def k(x): return sorted([1, 2], key=k)\nreturn sorted([1, 2], key=k)", "RuntimeError: maximum recursion depth exceeded"},
	{"allocation of bytes", "all = []\nwhile True: all.append(bytearray(1 << 20))", ""},
	{"allocation of objects", "all = []\nwhile True: all.append({'a': [len(all)]})", ""},
	{"allocation of a text", "s = 'x'\nwhile True: s += s", "MemoryError"},
	{"a huge allocation", "return bytearray(1 << 30)", "MemoryError"},
	{"a huge number", "n = 10 ** 7; return 10 ** n", "units of fuel"},
	{"a long number", "n = 5000; return 10 ** n", "1000000"},
	{"a huge shift", "n = 40; return 1 << (1 << n)", ""},
	{"a negative size", "n = -1; return bytearray(n)", ""},
	{"a huge result", "return 'x' * (8 << 20)", ""},
	{"a deep result", "x = []\nfor i in range(20000): x = [x]\nreturn x", "RuntimeError: maximum recursion depth exceeded"},
	{"a deep parse", "import json; return json.loads('[' * 100000)", "RuntimeError: maximum recursion depth exceeded"},
	{"a deep expression", "return eval('(' * 5000 + '1' + ')' * 5000)", ""},
	{"a deep expression of operators", "return eval('-' * 100000 + '1')", ""},
	{"a cycle", "a = {'b': [1]}; a['b'].append(a); return a", "Circular reference detected, at b[1]"},
	{"a key that is no text", "return {'a': {(1, 2): 3}}", "keys must be str, int, float, bool or None, not tuple, at a"},
	{"a key that is a number", "return {1: 'a', None: 'b', True: 'c'}", `"null":"b"`},
	{"a value without JSON", "return {'a': [object()]}", "has no JSON"},
	{"a function", "return run", "a value of type"},
	{"a module", "import json; return json", "a value of type module has no JSON"},
	{"not a number", "return {'a': float('nan')}", "Out of range float values are not JSON compliant, at a"},
	{"a lone surrogate", `return "a\ud800b"`, "a\ufffdb"},
	{"a lone surrogate in an object", `return {"a": "\udc00"}`, "{\"a\":\"\ufffd\"}"},
	{"a lone surrogate in an argument", `import json; return json.loads('"\\\\ud800"')`, ""},
	{"bytes that are no text", `return b"\xff\xfe".decode()`, "UnicodeError"},
	{"a file", "return open('/etc/passwd').read()", "a script opens no files"},
	{"a module that is not there", "import os", "no module named 'os'"},
	{"a module by its path", "__import__('/etc/passwd')", "no module named"},
	{"a module of the engine", "import _host; return _host.ask('{}')", "error"},
	{"machine memory", "import machine; return machine.mem32[0]", "no module named 'machine'"},
	{"memory by uctypes", "import uctypes; return uctypes.bytearray_at(0, 64)", "no module named 'uctypes'"},
	{"eval and exec", "x = {}; exec('import sys; y = sys.platform', x); return [x['y'], eval('1 + 1')]", `["sallyport",2]`},
	{"machine code", "exec('import micropython\\n@micropython.native\\ndef f(): return 1')", "SyntaxError"},
	{"an end of the process", "import sys; sys.exit(3)", "SystemExit: 3"},
	{"an error whose text fails", "class E(Exception):\n    def __str__(self): raise ValueError('no')\nraise E()", "an error that has no text was raised"},
	{"an error that is no exception", "raise 3", "exceptions must derive from BaseException"},
	{"a request without a grant", "return fetch('https://example.com/').text", "no grant"},
	{"a file by its URL", "return fetch('file:///etc/passwd').text", "file"},
	{"many requests", "try: ask_all([('kv/get', {'key': str(i)}) for i in range(500)])\nexcept HostError: return 'done'", "done"},
	{"a request that is no request", "return ask('no/such', [object()])", "has no JSON"},
	{"a stream that is not there", "import _host; return _host.read(77, 10)", "OSError"},
	{"a read of a negative size", "import _host; return _host.read(0, -1)", ""},
	{"broken builtins", "import builtins; builtins.str = None; builtins.isinstance = None; builtins.len = None; return 'done'", ""},
	{"a broken library", "import _main, _json; _main.METHODS.clear(); _main.json_of = None; return 'done'", ""},
	{"a changed global", "global calls\ntry: calls += 1\nexcept NameError: calls = 1\nreturn calls", "1"},
	{"keys that break the index", "class K:\n    def __hash__(self): return 1\n    def __eq__(self, o): d.clear(); return False\nd = {}\nfor i in range(50): d[K()] = i\nreturn 'done'", "done"},
	{"a reserved result", "return {'content': [], 'task': {}, 'requestState': 'x'}", ""},
}

// hostilePythonImports are scripts that do harm while they are imported, with a part of their status.
var hostilePythonImports = []struct{ name, text, want string }{
	{"pyendless", "while True: pass", "still runs after 20,000,000 steps of its import"},
	{"pycatching", "while True:\n    try:\n        while True: pass\n    except BaseException: pass", "still runs after 20,000,000 steps of its import"},
	{"pyraised", "\nraise TypeError('x')", "TypeError: x (pyraised.py:2)"},
	{"pyasking", "from sallyport import fetch\nfetch('https://example.com/')", "the host can only be asked during a call"},
	{"pysilent", "x = 1", "registers nothing"},
	{"pytwice", runsPython("pass") + runsPython("pass"), `tool "run" is registered twice`},
	{"pytype", "from sallyport import tool\n@tool\ndef f(x: Nowhere): pass", "pytype.py:3: the type Nowhere is unknown here"},
	{"pystar", "from sallyport import tool\n@tool\ndef f(*all): pass", "*all has no names for the caller"},
	{"pysyntax", "def f():\n    return (1,\n", "SyntaxError"},
	{"pyindent", "def f():\nreturn 1", "pyindent.py:2:1: "},
	{"pyoutside", "x = 1\nif x:\n    return 1", "pyoutside.py:3:5: SyntaxError: 'return' outside function"},
	{"pyfull", "import gc\ngc.disable()\nall = []\nwhile True: all.append(bytearray(1 << 20))", "MemoryError"}, // not its deadline: collections take long
	{"pymissing", "\nimport requests", "no module named 'requests' (pymissing.py:2): modules are looked for below the folder"},
	{"pyinner", "import lib.broken", "lib/broken.py:2:"},
	{"pyexit", "import sys; sys.exit(1)", "the script ended itself"},
	{"pylarge", strings.Repeat("#", 1<<20), "too large"},
}

// TestPythonScripts_hostile calls each hostile script twice: it gets a sentence, and harms neither the host nor another
// script nor its own next call.
func TestPythonScripts_hostile(t *testing.T) {
	dir := t.TempDir()
	writeSource(t, dir, "honest.py", "from sallyport import tool\ncalls = 0\n@tool\ndef run():\n    global calls\n    calls += 1\n    return f'call {calls}'\n")
	writeSource(t, dir, "lib/broken.py", "\nx = = 1\n")
	for i, h := range hostilePython {
		writeSource(t, dir, fmt.Sprintf("h%d.py", i), runsPython(h.body))
	}
	for _, h := range hostilePythonImports {
		writeSource(t, dir, h.name+".py", h.text)
	}
	o := options(t, dir)
	o.Defaults = runtime.Limits{Fuel: 2_000_000_000, Deadline: time.Hour}
	r := openWithin(t, o, time.Hour)
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, h := range hostilePython {
		plugin := fmt.Sprintf("h%d", i)
		for range 2 { // the second call begins as the first one did
			if got := runScript(t, r, plugin, `{}`); !strings.Contains(got, h.want) || got == "" || strings.Contains(got, "trapped") {
				t.Errorf("%s: got %.300q, want %q", h.name, got, h.want)
			}
		}
		if got := runScript(t, r, "honest", "{}"); got != "call 1" {
			t.Fatalf("after %s: got %q of an honest script, want its first call", h.name, got)
		}
	}
	for _, h := range hostilePythonImports {
		if s := status(r, h.name); s.Error == "" || !strings.Contains(s.Error, h.want) || strings.Contains(s.Error, "trapped") {
			t.Errorf("%s: got status %q, want %q", h.name, s.Error, h.want)
		}
	}
}

// A script whose text takes too long to parse ends at the deadline.
func TestPythonScripts_parseWithinTheDeadline(t *testing.T) {
	dir := t.TempDir()
	writeSource(t, dir, "pydeep.py", "x = "+strings.Repeat("(", 20000)+strings.Repeat(")", 20000))
	r := openWithin(t, options(t, dir), time.Second)
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := status(r, "pydeep"); !strings.Contains(s.Error, "the guest did not describe itself within 1s") {
		t.Errorf("got status %q, want its deadline", s.Error)
	}
}

// A saved script serves at once; one with an error leaves the old one in service, and the status has the place.
func TestPythonScripts_areReplacedOnSave(t *testing.T) {
	dir := t.TempDir()
	text := "from lib.text import text\nfrom sallyport import tool\n\n@tool\ndef run():\n    return 'one ' + text\n"
	writeSource(t, dir, "p.py", text)
	writeSource(t, dir, "lib/text.py", `text = "a"`)
	r := open(t, options(t, dir))
	if err := r.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		eventually(t, "says "+want, func() bool { return runScript(t, r, "p", "{}") == want })
	}
	says("one a")
	writeSource(t, dir, "p.py", strings.Replace(text, "one", "two", 1))
	says("two a")
	writeSource(t, dir, "lib/text.py", `text = "b"`)
	says("two b")
	writeSource(t, dir, "p.py", "x = 1\ny = = 2\n")
	eventually(t, "the error has its place", func() bool { return strings.Contains(status(r, "p").Error, "p.py:2:5: SyntaxError") })
	says("two b")
}
