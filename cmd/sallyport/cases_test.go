package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	w "github.com/sallyport-mcp/sallyport/runtime/wasmtest"
)

// ratesScript asks the web, the person, the model and the client's folders, and keeps a key.
const ratesScript = `
import { elicit, kv, prompt, resource, roots, sample, tool } from "sallyport";
tool("convert", "", { amount: "number" }, async ({ amount }) => {
  const r = await fetch("https://rates.example/today");
  if (!r.ok) throw new Error("no rates today");
  return { sum: amount * (await r.json()).rate };
});
tool("order", "", async () => (await elicit("Which?", { colour: "string" }))?.colour ?? "nothing");
tool("think", "", async () => (await sample("Why?")).text + " in " + (await roots()).map((r) => r.uri));
tool("visit", "", async () => { const n = ((await kv.get("n")) ?? 0) + 1; await kv.set("n", n); return "visit " + n; });
tool("when", "", () => new Date().toISOString().slice(0, 16) + " " + (Math.random() === Math.random()));
tool("leak", "", async () => (await fetch("https://elsewhere.example/")).text());
resource("rates://motto", "motto", "", () => "buy low");
prompt("review", "", { file: "" }, ({ file }) => "Review " + file);
`

// ratesCases are cases that pass.
const ratesCases = `
grants:
  - net: GET https://rates.example/**
  - kv: 1MiB
  - elicitation
  - sampling: {calls: 3, tokens: 5000}
  - roots
web:
  GET https://rates.example/today: {json: {rate: 2.5}}
cases:
  - call: convert
    with: {amount: 2}
    structured: {sum: 5.0}
  - name: a day without rates
    call: convert
    with: {amount: 2}
    web:
      GET https://rates.example/today: {status: 503, text: closed}
    error: no rates today
  - call: convert
    with: {amount: many}
    error: want number
  - call: order
    answers: [{colour: red}]
    text: red
  - call: order
    answers: [decline]
    text: nothing
  - call: think
    model: because
    roots: ["file:///home/ada"]
    text: because in file:///home/ada
  - {call: visit, text: visit 1}
  - {call: visit, text: visit 2}
  - {call: when, text: "2026-01-01T00:00 false"}
  - {call: leak, denied: elsewhere.example}
  - {read: "rates://motto", text: buy low}
  - {prompt: review, with: {file: a.go}, text: Review a.go}
  - {read: "rates://nowhere", error: unknown resource}
`

// writeFiles writes files into a new folder and returns it.
func writeFiles(t *testing.T, nameAndText ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := 0; i < len(nameAndText); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, nameAndText[i]), []byte(nameAndText[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTest_passesCasesWithAMadeUpWorld(t *testing.T) {
	dir := writeFiles(t, "rates.ts", ratesScript, "rates.cases.yaml", ratesCases)
	junit := filepath.Join(dir, "out.xml")
	out, err := program(t, "", "test", filepath.Join(dir, "rates.ts"), "--junit", junit).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nok   a day without rates\n") || !strings.HasSuffix(string(out), "13 cases passed\n") {
		t.Errorf("got %v\n%s\nwant 13 cases passed", err, out)
	}
	if report, err := os.ReadFile(junit); err != nil || !strings.Contains(string(report), `tests="13" failures="0"`) {
		t.Errorf("got %v, %s, want a report of 13 tests", err, report)
	}
}

// Each wrong expectation is a failure that names what came, and exit code 1.
func TestTest_failsCasesThatDiffer(t *testing.T) {
	const wrong = `
grants:
  - net: GET https://rates.example/**
  - elicitation
cases:
  - {call: convert, with: {amount: 2}}
  - {call: order, text: red}
  - {call: order, answers: [{colour: red}, {colour: blue}], text: blue}
  - {call: when, error: late}
  - {call: leak}
  - {call: nowhere}
`
	dir := writeFiles(t, "rates.ts", ratesScript, "wrong.yaml", wrong)
	junit := filepath.Join(dir, "out.xml")
	cmd := program(t, "", "test", filepath.Join(dir, "rates.ts"), "--cases", filepath.Join(dir, "wrong.yaml"), "--junit", junit)
	out, _ := cmd.CombinedOutput()
	wantInOrder(t, "test", string(out), []string{
		"FAIL convert", "the cases have no answer for GET https://rates.example/today",
		"FAIL order", "the case has no answer left",
		"FAIL order", `got the text "red", want "blue"`, "got 1 question fewer than the case has",
		"FAIL when", `want an error with "late"`,
		"FAIL leak", "got the error",
		"FAIL nowhere", "unknown tool",
		"6 of 6 cases failed",
	})
	if got := cmd.ProcessState.ExitCode(); got != exitTool {
		t.Errorf("got exit code %d, want %d", got, exitTool)
	}
	if report, err := os.ReadFile(junit); err != nil || !strings.Contains(string(report), `failures="6"`) {
		t.Errorf("got %v, %s, want a report of 6 failures", err, report)
	}
}

// The answers of a guest whose warm-up left something that its calls do not find otherwise are found.
func TestTest_findsAnswersThatDependOnTheWarmUp(t *testing.T) {
	const response = `{"result":{"content":[{"type":"text","text":"cold"}]}}`
	m := w.Answering(response)
	at := 16 + int32(strings.Index(response, "cold")) // Answering has the response at 16
	m.Export("mcp_warm", m.Func(nil, []byte{w.I32}, nil, w.I32Const(at), w.I32Const('t'), []byte{0x3a, 0, 0}, w.I32Const(0)))
	m.Custom("sallyport.manifest", []byte(`{"name":"g","version":"1","tools":[{"name":"t","inputSchema":{"type":"object"}}]}`))
	dir := writeFiles(t, "g.wasm", string(m.Bytes()), "g.cases.yaml", "cases: [{call: t, text: told}, {call: t}]")
	out, _ := program(t, "", "test", filepath.Join(dir, "g.wasm")).CombinedOutput()
	wantInOrder(t, "test", string(out), []string{"FAIL t\n", "the answer depends on the warm-up", `"told"`, `"cold"`, "FAIL t\n", "2 of 2 cases failed"})
}

// The lines of --grant are granted beside those of the cases.
func TestTest_takesGrantsOfTheCommandLine(t *testing.T) {
	dir := writeFiles(t, "rates.ts", ratesScript, "c.yaml", "grants: [elicitation]\ncases:\n  - {call: visit, text: visit 1}\n  - {call: order, answers: [decline], text: nothing}\n")
	args := []string{"test", filepath.Join(dir, "rates.ts"), "--cases", filepath.Join(dir, "c.yaml")}
	out, err := program(t, "", args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "1 of 2 cases failed") {
		t.Errorf("without: got %v, %s, want one failure", err, out)
	}
	if out, err := program(t, "", append(args, "--grant", "kv: 1MiB")...).CombinedOutput(); err != nil {
		t.Errorf("with: got %v, %s, want both passed", err, out)
	}
}

func TestTest_namesTheLineOfAWrongFile(t *testing.T) {
	for text, want := range map[string]string{
		"cases: []":                                                              "c.yaml:1: cases: want a list of at least one",
		"case: [{call: t}]":                                                      `unknown key "case"; did you mean cases?`,
		"cases:\n  - {call: t, texts: x}":                                        `c.yaml:2: unknown key "texts"; did you mean text?`,
		"cases:\n  - {text: x}":                                                  "c.yaml:2: a case has one of call, read and prompt",
		"cases: [{call: t, read: u}]":                                            "a case has one of call, read and prompt",
		"cases: [{call: t, with: [1]}]":                                          "want the arguments by name",
		"cases: [{call: t, answers: [maybe]}]":                                   "an answer is the values of a form, decline or cancel",
		"web: {rates: x}\ncases: [{call: t}]":                                    "want a method and an address",
		"grants: [{a: 1, b: 2}]\ncases: [{call: t}]":                             "a grant is one line",
		"grants: [net]\ncases: [{call: t}]":                                      "",
		"grants: ['fs: write ~/**']\ncases: [{call: t}]":                         "c.yaml:1: the cases do not grant files and secrets of this machine",
		"grants: ['secret: KEY {to: https://a.example/**}']\ncases: [{call: t}]": "the cases do not grant files and secrets of this machine",
		"grants: [{fs: read /etc/**}]\ncases: [{call: t}]":                       `give the line "fs: read /etc/**" with --grant`,
		"cases: [":  "c.yaml:2: ",
		"":          "c.yaml:1: the file is empty: write cases:",
		"# later\n": "c.yaml:1: the file is empty: write cases:",
	} {
		dir := writeFiles(t, "rates.ts", ratesScript, "c.yaml", text)
		cmd := program(t, "", "test", filepath.Join(dir, "rates.ts"), "--cases", filepath.Join(dir, "c.yaml"))
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) || cmd.ProcessState.ExitCode() != exitError {
			t.Errorf("%s: got %d, %s, want %d, %s", text, cmd.ProcessState.ExitCode(), out, exitError, want)
		}
	}
	dir := writeFiles(t, "a.ts", ratesScript)
	for path, want := range map[string][]string{
		filepath.Join(dir, "a.ts"): {"there are no cases", "a.cases.yaml"},
		filepath.Join(dir, "b.ts"): {"b.ts: no such file or directory"},
		dir:                        {"is a folder", "hint: name one file in it"},
	} {
		cmd := program(t, "", "test", path)
		out, _ := cmd.CombinedOutput()
		wantInOrder(t, path, string(out), want)
		if code := cmd.ProcessState.ExitCode(); code != exitError {
			t.Errorf("%s: got exit code %d, want %d", path, code, exitError)
		}
	}
}
