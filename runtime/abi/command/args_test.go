package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// launched records the command line of a call.
type launched struct {
	args, env []string
	secrets   map[string]string
	stdin     string
}

func (l *launched) Launch(c runtime.CommandLine, stdin io.Reader, _, _ io.Writer) {
	l.args, l.env, l.secrets, l.stdin = c.Args, c.Env, c.Secrets, "closed"
	if stdin != nil {
		text, _ := io.ReadAll(stdin)
		l.stdin = string(text)
	}
}

func (l *launched) InputResource(_ context.Context, uri string) io.Reader {
	return strings.NewReader("the resource " + uri)
}

func (l *launched) Input(path string) io.Reader { return strings.NewReader("the file " + path) }

func (l *launched) ReadResult(string, int, string) ([]byte, error) {
	return nil, errors.New("there are no files")
}

// oneTool returns a program with one tool, whose arguments are s and t (strings), n (a number), b (a boolean), list (an
// array of strings) and o (an object), of which others are removed.
func oneTool(t *testing.T, keys string, properties ...string) *Program {
	t.Helper()
	p, err := Parse([]byte(toolJSON(keys, properties...)))
	if err != nil {
		t.Fatalf("%s: got %v, want no error", keys, err)
	}
	return p
}

func toolJSON(keys string, properties ...string) string {
	all := map[string]string{
		"s": `{"type":"string"}`, "t": `{"type":["string","null"]}`, "n": `{"type":"number"}`, "b": `{"type":"boolean"}`,
		"list": `{"type":"array","items":{"type":"string"}}`, "o": `{"type":"object"}`, "any": `{}`,
		"bytes": `{"type":"string","contentEncoding":"base64"}`,
	}
	var members []string
	for _, name := range properties {
		members = append(members, fmt.Sprintf("%q:%s", name, all[name]))
	}
	return fmt.Sprintf(`{"program":"prog","tools":[{"name":"run","inputSchema":{"type":"object","properties":{%s}},%s}]}`, strings.Join(members, ","), keys)
}

func TestArgs_mapsEachValueToItsOwnArgument(t *testing.T) {
	for _, c := range []struct{ keys, arguments, want string }{
		{`"args":["run","{s}"]`, `{"s":"a b; $(rm -rf /) 'x' \"y\"\n*"}`, `["run" "a b; $(rm -rf /) 'x' \"y\"\n*"]`},
		{`"args":["{s}"]`, `{}`, `[]`},
		{`"args":["{t}"]`, `{"t":null}`, `[]`},
		{`"args":["{s}"]`, `{"s":""}`, `[""]`},
		{`"args":["{n}","{b}"]`, `{"n":1.50,"b":false}`, `["1.50" "false"]`},
		{`"args":["--n={n}","-s{s}"]`, `{"n":-1,"s":"-x"}`, `["--n=-1" "-s-x"]`},
		{`"args":["--","{s}"]`, `{"s":"-x"}`, `["--" "-x"]`},
		{`"args":[["--indent","{n}"],"x"]`, `{}`, `["x"]`},
		{`"args":[["--indent","{n}"],"x"]`, `{"n":2}`, `["--indent" "2" "x"]`},
		{`"args":[["-e","{list}"]]`, `{"list":["a","b"]}`, `["-e" "a" "-e" "b"]`},
		{`"args":[["-e","{list}"]]`, `{"list":[]}`, `[]`},
		{`"args":[["--pair","{s}","{list}"]]`, `{"s":"k","list":["a","b"]}`, `["--pair" "k" "a" "--pair" "k" "b"]`},
		{`"args":[["--pair","{list}","{s}"]]`, `{"list":["a"]}`, `[]`},
		{`"args":["{list}"]`, `{"list":["a","b"]}`, `["a" "b"]`},
		{`"args":["--x={list}"]`, `{"list":["a","-b"]}`, `["--x=a" "--x=-b"]`},
		{`"args":[{"if":"b","args":["-r",["--s","{s}"]]},"z"]`, `{"b":true,"s":"v"}`, `["-r" "--s" "v" "z"]`},
		{`"args":[{"if":"b","args":["-r",["--s","{s}"]]},"z"]`, `{"b":false,"s":"v"}`, `["z"]`},
		{`"args":[{"unless":"b","args":["-q"]}]`, `{}`, `["-q"]`},
		{`"args":[{"unless":"b","args":["-q"]}]`, `{"b":true}`, `[]`},
		{`"args":[{"unless":"s","args":["-n"]}]`, `{"s":""}`, `[]`},
		{`"args":[{"unless":"s","args":["-n"]}]`, `{}`, `["-n"]`},
		{`"args":["a{{b}}","{{s}}"]`, `{}`, `["a{b}" "{s}"]`},
		{`"args":["{s}"]`, `{"s":"{t}"}`, `["{t}"]`},
	} {
		var names []string
		for _, name := range []string{"s", "t", "n", "b", "list"} {
			if strings.Contains(strings.NewReplacer("{{", "", "}}", "").Replace(c.keys), "{"+name+"}") || strings.Contains(c.keys, `":"`+name+`"`) {
				names = append(names, name)
			}
		}
		p := oneTool(t, c.keys, names...)
		var got launched
		if _, err := p.launch(t.Context(), &got, p.tools["run"], json.RawMessage(c.arguments), nil, nil, false); err != nil {
			t.Errorf("%s with %s: got %v, want no error", c.keys, c.arguments, err)
			continue
		}
		if line := fmt.Sprintf("%q", got.args[1:]); line != c.want || got.args[0] != "prog" {
			t.Errorf("%s with %s: got %s, want %s", c.keys, c.arguments, line, c.want)
		}
	}
}

func TestArgs_refusesValuesThatAreNoArgument(t *testing.T) {
	large := `"` + strings.Repeat("x", 1<<20) + `"`
	for _, c := range []struct{ keys, name, value, want string }{
		{`"args":["{s}"]`, "s", `"-x"`, `invalid: the argument "s" begins with a dash`},
		{`"args":["{s}"]`, "s", `"-"`, `invalid: the argument "s" begins with a dash`},
		{`"args":["{n}"]`, "n", `-1`, `invalid: the argument "n" begins with a dash`},
		{`"args":["-F{s}","--"]`, "s", `""`, `invalid: the argument "s" is empty, so the program could read its next argument as the value of -F`},
		{`"args":["-v{list}"]`, "list", `["a",""]`, `invalid: the argument "list" is empty`},
		{`"args":[["--o","{s}"]]`, "s", `"--rm"`, `invalid: the argument "s" begins with a dash`},
		{`"args":["{list}"]`, "list", `["a","-b"]`, `invalid: the argument "list" begins with a dash`},
		{`"args":[["--","x"],"{s}"]`, "s", `"-x"`, `invalid: the argument "s" begins with a dash`},
		{`"args":["{s}","--"]`, "s", `"-x"`, `invalid: the argument "s" begins with a dash`},
		{`"args":["--","{s}"]`, "s", `"a\u0000b"`, `invalid: the argument "s" has a NUL byte`},
		{`"args":["--","{s}"]`, "s", `{"a":1}`, `invalid: the argument "s" is no plain value`},
		{`"args":["--","{s}"]`, "s", large, `limit: the command line is over 1048576 bytes: pass large values by the standard input of the tool`},
		{`"env":{"X":"{s}"}`, "s", large, `limit: the command line is over 1048576 bytes`},
		{`"env":{"X":"{s}"}`, "s", `"a\u0000b"`, `invalid: the argument "s" has a NUL byte`},
		{`"args":["--","{list}"]`, "list", `[` + strings.Repeat(`"",`, 1<<14) + `""]`, `limit: the command line has over 16384 arguments`},
		{`"stdin":{"file":"{s}"}`, "s", `"a\u0000b"`, `invalid: the argument "s" has a NUL byte`},
		{`"stdin":"{bytes}"`, "bytes", `"%%"`, `invalid: the argument "bytes" is not base64`},
	} {
		p := oneTool(t, c.keys, c.name)
		_, err := p.launch(t.Context(), &launched{}, p.tools["run"], json.RawMessage(`{"`+c.name+`":`+c.value+`}`), nil, nil, false)
		var end *runtime.EndError
		if !errors.As(err, &end) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s with %.40s: got %v, want %s", c.keys, c.value, err, c.want)
		}
	}
}

// The host builds the command line itself, outside the fuel and the deadline of the call.
func TestArgs_readsEachArgumentOnce(t *testing.T) {
	p := oneTool(t, `"args":[`+strings.Repeat(`["{list}","{s}","{t}"],`, 120)+`"x"]`, "list", "s", "t")
	arguments := json.RawMessage(`{"list":["a"],"s":"` + strings.Repeat(`\u0041`, 1<<20) + `"}`)
	launch := func() (err error) {
		defer func(before uint64) {
			if used := allocated() - before; used > 64<<20 {
				t.Errorf("got %d MiB allocated for an argument of 6 MiB, want at most 64", used>>20)
			}
		}(allocated())
		_, err = p.launch(t.Context(), &launched{}, p.tools["run"], arguments, nil, nil, false)
		return err
	}
	if err := launch(); err != nil {
		t.Error(err)
	}
	arguments = json.RawMessage(`{"list":[` + strings.Repeat(`"",`, 1<<20) + `""]}`)
	if err := launch(); err == nil || !strings.Contains(err.Error(), "over 16384 arguments") {
		t.Errorf("got %v, want the limit of arguments", err)
	}
	p = oneTool(t, `"args":["--`+strings.Repeat("x", 15<<10)+`={list}"]`, "list")
	arguments = json.RawMessage(`{"list":[` + strings.Repeat(`"a",`, 1<<14-1) + `"a"]}`)
	if err := launch(); err == nil || !strings.Contains(err.Error(), "over 1048576 bytes") {
		t.Errorf("got %v, want the limit of bytes", err)
	}
}

func allocated() uint64 {
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestLaunch_setsStdinAndEnvironment(t *testing.T) {
	for _, c := range []struct{ keys, name, value, stdin, env string }{
		{`"stdin":"{s}"`, "s", `"a\nb"`, "a\nb", ""},
		{`"stdin":"{s}"`, "s", `null`, "closed", ""},
		{`"stdin":"{o}"`, "o", `{"k": [1]}`, `{"k": [1]}`, ""},
		{`"stdin":"{bytes}"`, "bytes", `"AP8="`, "\x00\xff", ""},
		{`"stdin":{"file":"{s}"}`, "s", `"-a b"`, "the file -a b", ""},
		{`"stdin":{"file":"{s}"}`, "s", `null`, "closed", ""},
		{`"stdin":{"resource":"{s}"}`, "s", `"memo://a"`, "the resource memo://a", ""},
		{`"stdin":{"resource":"{s}"}`, "s", `null`, "closed", ""},
		{`"env":{"TZ":"{s}"}`, "s", `"UTC"`, "closed", "TZ=UTC"},
		{`"env":{"TZ":"{s}"}`, "s", `null`, "closed", ""},
		{`"env":{"TERM":"{s}"}`, "s", `"xterm"`, "closed", "TERM=xterm"},
		{`"args":["{s}"],"env":{"LANG":"C {{x}}"}`, "s", `"-"`, "closed", "LANG=C {x}"},
	} {
		p := oneTool(t, c.keys, c.name)
		if strings.Contains(c.keys, "args") {
			c.value = `"x"`
		}
		var got launched
		if _, err := p.launch(t.Context(), &got, p.tools["run"], json.RawMessage(`{"`+c.name+`":`+c.value+`}`), nil, nil, false); err != nil {
			t.Errorf("%s: got %v, want no error", c.keys, err)
		}
		want := []string{"NO_COLOR=1", "TERM=dumb"}
		if name, _, _ := strings.Cut(c.env, "="); name == "TERM" {
			want = []string{c.env, "NO_COLOR=1"}
		} else if c.env != "" {
			want = append([]string{c.env}, want...)
		}
		if got.stdin != c.stdin || !slices.Equal(got.env, want) {
			t.Errorf("%s: got %q with %q, want %q with %q", c.keys, got.stdin, got.env, c.stdin, want)
		}
	}
}

func TestParse_refusesHostileFiles(t *testing.T) {
	for _, c := range []struct {
		keys, name, want string
	}{
		{`"args":["{z}"]`, "s", `/tools/0/args/0: the placeholder {z} names no property of inputSchema; did you mean "s"?`},
		{`"args":["{s}{s}"]`, "s", `/tools/0/args/0: an argument is a text or one value, not a mix of both`},
		{`"args":["x{s}"]`, "s", `/tools/0/args/0: the text "x" cannot carry a value`},
		{`"args":["--{s}"]`, "s", `/tools/0/args/0: the text "--" cannot carry a value`},
		{`"args":["-{s}"]`, "s", `/tools/0/args/0: the text "-" cannot carry a value`},
		{`"args":["--no-{s}"]`, "s", `/tools/0/args/0: the text "--no-" cannot carry a value`},
		{`"args":["--={s}"]`, "s", `/tools/0/args/0: the text "--=" cannot carry a value`},
		{`"args":["x={s}"]`, "s", `/tools/0/args/0: the text "x=" cannot carry a value`},
		{`"args":["{s}x"]`, "s", `/tools/0/args/0: an argument is a text or one value`},
		{`"args":["{"]`, "", `/tools/0/args/0: an argument is a text or one value`},
		{`"args":["}"]`, "", `/tools/0/args/0: a brace that is text is doubled`},
		{`"args":["a\u0000"]`, "", `/tools/0/args/0: a NUL byte cannot be passed to a program`},
		{`"args":"x"`, "", `/tools/0/args: args is a list`},
		{`"args":[5]`, "", `/tools/0/args/0: an entry of args is a text, a list, or {if: NAME, args: […]}; write a number in quotes`},
		{`"args":[[]]`, "", `/tools/0/args/0: a list in args has at least one entry`},
		{`"args":[["a",["b"]]]`, "", `/tools/0/args/0/1: a list in args holds texts only`},
		{`"args":[["{list}","{list}"]]`, "list", `/tools/0/args/0: a list in args repeats for one array, and here are 2`},
		{`"args":["{o}"]`, "o", `/tools/0/args/0: the argument "o" is of type object, which is no argument of a program: pass it by stdin`},
		{`"args":["{any}"]`, "any", `/tools/0/args/0: the argument "any" has no single type`},
		{`"args":[{"if":"b"}]`, "b", `/tools/0/args/0: a condition is {if: NAME, args: […]}`},
		{`"args":[{"if":"b","unless":"b","args":[]}]`, "b", `/tools/0/args/0: a condition is {if: NAME, args: […]}`},
		{`"args":[{"if":"b","args":[{"if":"b","args":[]}]}]`, "b", `/tools/0/args/0/args/0: an entry here is a text or a list`},
		{`"args":[{"when":"b","args":[]}]`, "b", `/tools/0/args/0/when: unknown key "when"`},
		{`"args":[` + strings.Repeat(`"x",`, 600) + `"x"]`, "", `args has over 512 entries`},
		{`"stdin":"x"`, "", `/tools/0/stdin: stdin is one argument of the tool`},
		{`"stdin":"{s}\n{s}"`, "s", `/tools/0/stdin: stdin is one argument of the tool`},
		{`"stdin":{"file":"x"}`, "", `/tools/0/stdin/file: the file is one argument of the tool, its path: write stdin: {file: "{NAME}"}`},
		{`"stdin":{"file":"{s}/x"}`, "s", `/tools/0/stdin/file: the file is one argument of the tool`},
		{`"stdin":{"file":"{n}"}`, "n", `/tools/0/stdin/file: the argument "n" is a path: write type: string`},
		{`"stdin":{"file":"{bytes}"}`, "bytes", `/tools/0/stdin/file: the argument "bytes" is a path`},
		{`"stdin":{}`, "", `/tools/0/stdin: stdin is one argument of the tool, the path of a file or the URI of a resource`},
		{`"stdin":{"file":"{s}","resource":"{s}"}`, "s", `/tools/0/stdin: stdin is one argument of the tool`},
		{`"stdin":{"resource":"memo://{s}"}`, "s", `/tools/0/stdin/resource: the resource is one argument of the tool, its URI: write stdin: {resource: "{NAME}"}`},
		{`"stdin":{"resource":"{n}"}`, "n", `/tools/0/stdin/resource: the argument "n" is a URI: write type: string`},
		{`"stdin":{"files":"{s}"}`, "s", `/tools/0/stdin/files: unknown key "files"; did you mean "file"?`},
		{`"stdin":{"file":"{s}","file":"{s}"}`, "s", `twice`},
		{`"env":{"PWD":"x"}`, "", `/tools/0/env/PWD: "PWD" is no name of a variable`},
		{`"env":{"A=B":"x"}`, "", `/tools/0/env/A=B: "A=B" is no name of a variable`},
		{`"env":{"A":"{list}"}`, "list", `/tools/0/env/A: the argument "list" is of type array, and only one plain value goes here`},
		{`"env":{"A":"x{s}"}`, "s", `/tools/0/env/A: a brace that is text is doubled`},
		{`"output":"yaml"`, "", `/tools/0/output: there is no output "yaml"`},
		{`"output":"jsno"`, "", `/tools/0/output: there is no output "jsno"; did you mean "json"?`},
		{`"output":"bytes"`, "", `/tools/0/output: bytes have a type`},
		{`"output":{"as":"text","type":"a/b"}`, "", `/tools/0/output: bytes have a type`},
		{`"output":{"type":"png"}`, "", `/tools/0/output/type: "png" is no media type`},
		{`"output":{"file":"x"}`, "", `/tools/0/output/file: the path "x" is not absolute`},
		{`"output":{"file":"/a\u202e"}`, "", `/tools/0/output/file: the path has 1 invisible characters`},
		{`"exit":{"256":"ok"}`, "", `/tools/0/exit/256: "256" is no exit code`},
		{`"exit":{"01":"ok"}`, "", `/tools/0/exit/01: "01" is no exit code`},
		{`"exit":{"1":"fine"}`, "", `/tools/0/exit/1: an exit code means ok, error, retry`},
		{`"exit":{"1":{"ok":"x"}}`, "", `/tools/0/exit/1: an exit code means ok, error, retry`},
		{`"stderr":"drop"`, "", `/tools/0/stderr: stderr is log or progress`},
		{`"start":"twice"`, "", `/tools/0/start: start is once`},
		{`"start":"once","stdin":"{s}","env":{"A":"{s}"}`, "s", `/tools/0/start: a program that starts once has the same variables in each call`},
		{`"arg":[]`, "", `/tools/0/arg: unknown key "arg"; did you mean "args"?`},
		{`"args":[]`, "s", `/tools/0/inputSchema/properties/s: the argument "s" reaches the program nowhere`},
	} {
		var names []string
		if c.name != "" {
			names = []string{c.name}
		}
		_, err := Parse([]byte(toolJSON(c.keys, names...)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: got %v, want %s", c.keys, err, c.want)
		}
	}
	for text, want := range map[string]string{
		`[]`: "a tool file has keys and values", `{}`: "the file has no tools", `{"tools":[]}`: "the file has no tools",
		`{"tools":{}}`: "/tools: tools is a list", `{"tools":[1]}`: "/tools/0: a tool has keys and values",
		`{"tools":[{}]}`: "/tools/0: the tool has no name", `{"tool":[]}`: `/tool: unknown key "tool"; did you mean "tools"?`,
		`{"tools":[{"name":"a"},{"name":"a"}]}`: `/tools/1/name: there is a tool "a" already`,
		`{"tools":[{"name":5}]}`:                "/tools/0/name: this is a text", `{"tools":[],"tools":[]}`: "is there twice",
		`{"tools":[{"name":"a","inputSchema":{"type":"string"}}]}`:                         "/tools/0/inputSchema: inputSchema is a JSON Schema of type: object",
		`{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"a b":{}}}}]}`: `the argument name "a b" is not of letters`,
		strings.Repeat("[", 100_000):                                                       "", strings.Repeat(" ", MaxSize+1): "over 1 MiB",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", text, err, want)
		}
	}
}

func TestResult_forms(t *testing.T) {
	for _, c := range []struct{ keys, out, want string }{
		{`"output":"text"`, "a\n", `{"content":[{"type":"text","text":"a\n"}]}`},
		{`"output":"text"`, "", `{"content":[{"type":"text","text":""}]}`},
		{`"output":"text"`, "a\xe2\x82", "guest: the program's output is not UTF-8: byte 1 of 3"},
		{`"output":"lines"`, "a\r\nb\n\n", `{"content":[{"type":"text","text":"{\"result\":[\"a\",\"b\",\"\"]}"}],"structuredContent":{"result":["a","b",""]}}`},
		{`"output":"lines"`, "", `"structuredContent":{"result":[]}`},
		{`"output":"json"`, " {\"a\": 1}\n", `"structuredContent":{"a": 1}}`},
		{`"output":"json"`, "[1]", `"structuredContent":{"result":[1]}}`},
		{`"output":"json"`, "", "guest: the program's output is empty, and not the JSON that its tool file announces"},
		{`"output":"json"`, "1 2", "guest: the program's output is not one JSON value"},
		{`"output":"json"`, "{\"a\":", "guest: the program's output is not one JSON value"},
		{`"output":"jsonl"`, "1\n{\"a\":2} \"x\"", `"structuredContent":{"result":[1,{"a":2},"x"]}}`},
		{`"output":"jsonl"`, "", `"structuredContent":{"result":[]}}`},
		{`"output":"jsonl"`, "1\nx", "guest: value 2 of the program's output is not JSON"},
		{`"output":"jsonl"`, "1\n]\n2", "guest: value 2 of the program's output is not JSON"},
		{`"output":"jsonl"`, "1 {\"a\":", "guest: value 2 of the program's output is not JSON"},
		{`"output":"jsonl"`, "\"\xff\"", "guest: value 1 of the program's output is not JSON"},
		{`"output":{"type":"image/png"}`, "\x00\xff", `{"content":[{"type":"image","data":"AP8=","mimeType":"image/png"}]}`},
		{`"output":{"as":"bytes","type":"application/zip"}`, "x", `{"content":[{"type":"resource","resource":{"uri":"output:/run","mimeType":"application/zip","blob":"eA=="}}]}`},
	} {
		got, err := oneTool(t, c.keys).tools["run"].result([]byte(c.out), bound{bytes: 1 << 20})
		said := string(got)
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s of %q: got %s, want %s", c.keys, c.out, said, c.want)
		}
	}
}

func TestManifest_holdsAllOfTheCommandLine(t *testing.T) {
	first := `{"program":"ls","tools":[{"name":"a","args":["x"],"env":{"V":"1"},"output":"text","exit":{"1":"ok"},"stderr":"log"}]}`
	definition := func(text string) string {
		p, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: got %v, want no error", text, err)
		}
		return string(jsonraw.Get(p.Manifest(), "tools"))
	}
	for _, change := range []string{"ls rm", "x y", "V W", "1\" 2\"", "text lines", "ok retry", "log progress"} {
		before, after, _ := strings.Cut(change, " ")
		if definition(first) == definition(strings.Replace(first, before, after, 1)) {
			t.Errorf("%s changed to %s: got the same definition, want another", before, after)
		}
	}
}

// The host makes the result, outside the memory of the guest.
func TestResult_buildsNoListOverTheLimit(t *testing.T) {
	for as, unit := range map[string]string{"lines": "\n", "jsonl": "1\n"} {
		run := oneTool(t, `"output":"`+as+`"`).tools["run"]
		out, limit := []byte(strings.Repeat(unit, 1<<20/len(unit))), 1<<20
		before := allocated()
		if _, err := run.result(out, bound{limit, "limits.output"}); err == nil || !strings.Contains(err.Error(), "over the limit") {
			t.Errorf("%s: got %v, want the limit", as, err)
		}
		if used := allocated() - before; used > 8<<20 {
			t.Errorf("%s: got %d MiB allocated for an output of 1 MiB, want at most 8", as, used>>20)
		}
	}
	run := oneTool(t, `"output":"lines"`).tools["run"]
	if r, err := run.result([]byte(strings.Repeat("\n", 100)), bound{bytes: 900}); err != nil || len(r) > 900 {
		t.Errorf("100 empty lines: got %d bytes, %v; want at most 900", len(r), err)
	}
}

func TestFailure_saysWhatTheExitCodeMeans(t *testing.T) {
	p := oneTool(t, `"exit":{"0":"ok","1":"ok","2":{"error":"no such file."},"3":"retry","4":{"retry":"locked"},"other":{"error":"it failed"}}`)
	for code, want := range map[uint32]string{
		0: "<nil>", 1: "<nil>", 2: "exit: no such file (exit code 2)", 3: "unavailable: the program exited with code 3",
		4: "unavailable: locked (exit code 4)", 127: "exit: it failed (exit code 127)", 1 << 31: "exit: it failed (exit code 2147483648)",
	} {
		err := p.tools["run"].failure(exit{code: code}, nil, &teller{wrote: true})
		if fmt.Sprint(err) != want {
			t.Errorf("code %d: got %v, want %s", code, err, want)
		}
		var end *runtime.EndError
		if errors.As(err, &end) && end.Code != code {
			t.Errorf("got code %d in the error, want %d", end.Code, code)
		}
	}
	if err := oneTool(t, `"stderr":"log"`).tools["run"].failure(exit{code: 1}, []byte("one\n\x1b[31mtwo\u202e\U000e0041\x1b[0m\n \n"), &teller{}); fmt.Sprint(err) != "exit: the program exited with code 1:\none\ntwo" {
		t.Errorf("got %q, want the output without control characters", err)
	}
	if err := oneTool(t, `"exit":{"2":{"error":"\u001b[31mgone\u202e"}}`).tools["run"].failure(exit{code: 2}, nil, &teller{wrote: true}); fmt.Sprint(err) != "exit: gone (exit code 2)" {
		t.Errorf("got %q, want the file's error with exit code 2", err)
	}
}

func TestFailure_quotesTheEndOfTheOutput(t *testing.T) {
	line := strings.Repeat("ä", 49) + "\n"
	for out, want := range map[string]string{
		" \n":                           "exit: the program exited with code 1",
		"\none\n":                       "exit: the program exited with code 1: one",
		strings.Repeat(line, maxQuote):  "exit: the program exited with code 1:\n…\n" + strings.TrimSpace(strings.Repeat(line, maxQuote/len(line))),
		strings.Repeat("a", 2*maxQuote): "exit: the program exited with code 1:\n…\n" + strings.Repeat("a", maxQuote),
	} {
		if err := oneTool(t, `"stderr":"log"`).tools["run"].failure(exit{code: 1}, []byte(out), &teller{}); fmt.Sprint(err) != want {
			t.Errorf("%d bytes of output: got %d bytes, %.90q, want %d bytes, %.90q", len(out), len(fmt.Sprint(err)), err, len(want), want)
		}
	}
}

// teller is a gate that records progress.
type progressGate struct{ said []string }

func (g *progressGate) Ask(_ context.Context, method string, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	g.said = append(g.said, method+" "+string(params))
	return nil, nil
}

func TestTeller_sendsEachLine(t *testing.T) {
	var g progressGate
	w := newTeller(runtime.WithGate(t.Context(), &g), "progress")
	for _, part := range []string{"on", "e\r", "\n\ntwo\nthr\xffee"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write(%q): got %d, %v; want %d, no error", part, n, err, len(part))
		}
	}
	w.flush()
	want := []string{
		`notifications/progress {"progress":1,"message":"one"}`, `notifications/progress {"progress":2,"message":"two"}`,
		`notifications/progress {"progress":3,"message":"thr` + "\uFFFD" + `ee"}`,
	}
	if !slices.Equal(g.said, want) || !w.wrote {
		t.Errorf("got %q, want %q", g.said, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(toolJSON(`"args":["{s}",["--x","{list}"],{"if":"b","args":["-r"]}],"stdin":"{o}"`, "s", "list", "b", "o"), `{"s":"-x","list":["a"],"b":true}`)
	f.Fuzz(func(t *testing.T, file, arguments string) {
		p, err := Parse([]byte(file))
		if err != nil || !json.Valid([]byte(arguments)) {
			return
		}
		for _, tool := range p.tools {
			var got launched
			if _, err := p.launch(t.Context(), &got, tool, json.RawMessage(arguments), nil, nil, false); err != nil {
				continue
			}
			if slices.ContainsFunc(slices.Concat(got.args, got.env), hasNUL) {
				t.Errorf("got args %q, environment %q, want no NUL byte", got.args, got.env)
			}
		}
	})
}
