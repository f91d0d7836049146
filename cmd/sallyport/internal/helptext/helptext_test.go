package helptext

import (
	"runtime"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/registry/toolfile"
)

// helps are the beginnings of help texts in five styles.
var helps = map[string]string{
	"GNU": `Usage: grep [OPTION]... PATTERNS [FILE]...
Search for PATTERNS in each FILE.

Pattern selection and interpretation:
  -E, --extended-regexp     PATTERNS are extended regular expressions
  -e, --regexp=PATTERNS     use PATTERNS for matching
  -m, --max-count=NUM       stop after NUM selected lines
      --color[=WHEN],
      --colour[=WHEN]       use markers to highlight the matching strings
  -y                        same as --ignore-case
  -D ACTION                 how to handle devices, FIFOs and sockets;
                            ACTION is 'read' or 'skip'
      --help                display this help text and exit
`,
	"cobra": `Do things with things.

Usage:
  tool list [flags] PATH

Flags:
  -h, --help             help for list
  -o, --output string    output format (default "text")
      --depth int        levels
      --tag strings      tags to keep
      --all              show hidden things too
      --outdir=...       folder
`,
	"cobra commands": `Do things.

Usage:
  tool [command]

Available Commands:
  add         Add a thing
  completion  Generate the autocompletion script
  help        Help about any command
  list        List things

Flags:
  -v, --verbose   more

Use "tool [command] --help" for more information about a command.
`,
	"cobra both": `Select from a file.

Usage:
  tool -f <file> -r <json,yaml> <selector> [flags]
  tool [command]

Available Commands:
  put         Put a value

Flags:
  -f, --file string   the file
      --pretty        pretty print (default true)
  -r, --read string   the parser
`,
	"types": "usage: fmt [flags] [path ...]\n\t-l        list files\n\t-lang     str    the version\n",
	"clap": "A fast finder\n\nUsage: fd [OPTIONS] [pattern] [path]...\n\nArguments:\n  [pattern]  the search pattern\n  [path]...\n          the root directories\n\nOptions:\n" +
		"  -H, --hidden                  Search hidden files\n  -d, --max-depth <NUM>         Set maximum search depth\n  -t, --type <filetype>         Filter by type [possible values: file, directory]\n" +
		"  -E, --exclude <pattern>...\n          Exclude entries\n      --threads <N>\n          Number of threads\n  -h, --help                    Print help\n",
	"argparse": `usage: prog [-h] [--level {low,high}] [-n NUM] [--name NAME]
            src [src ...]

Converts things.

positional arguments:
  src                 the files

options:
  -h, --help          show this help message and exit
  --level {low,high}  how much
  -n NUM, --num NUM   how many
  --name NAME         the name, which
                      goes on here
`,
	"argparse commands": `usage: prog [-h] {init,run} ...

positional arguments:
  {init,run}
    init        start anew
    run         run it
`,
	"go-flags": `Usage:
  gojq [OPTIONS]

Command Options:
  -r, --raw-output          output raw strings
      --arg name value      set a string value to a variable
      --slurpfile name file set the JSON contents of a file to a variable
`,
	"columns": `usage: shfmt [flags] [path ...]

  -w,  --write     write result to file
  -i,  --indent uint       0 for tabs
`,
	"Go": "Usage of prog:\n  -count int\n    \thow many (default 1)\n  -name string\n    \tthe name\n  -v\tbe verbose\n  -wait duration\n    \thow long\n",
}

// drafts are the properties and arguments that each help gives.
var drafts = map[string][]string{
	"GNU": {
		"extendedRegexp: {type: boolean,", "regexp: {type: string,", "maxCount: {type: integer,", `"--regexp={regexp}"`, `"-D{D}"`, `{if: withY, args: ["-y"]}`,
		"required: [patterns]", `"{patterns}"`, "file: {type: array, items: {type: string}}", "ACTION is 'read' or 'skip'",
	},
	"cobra":          {"output: {type: string,", "depth: {type: integer,", "tag: {type: array, items: {type: string},", "all: {type: boolean,", "outdir: {type: string, description", `"--tag={tag}"`, `description: "Do things with things."`, "required: [path]"},
	"cobra both":     {"required: [selector]", `"--file={file}"`, "pretty: {type: boolean,", `"--pretty={pretty}"`, "- name: put", "- name: run"},
	"types":          {"l: {type: boolean,", `lang: {type: string, description: "the version"}`, `["-lang", "{lang}"]`, "needs exit: {1: ok}"},
	"cobra commands": {"- name: add", `description: "Add a thing"`, "- name: list", `- "list"`},
	"clap": {
		"hidden: {type: boolean,", "maxDepth: {type: integer,", `type: {type: string, enum: ["file", "directory"],`, "exclude: {type: array, items: {type: string}, description: \"Exclude entries\"}",
		"threads: {type: integer, description: \"Number of threads\"}", "pattern: {type: string, description: \"the search pattern\"}", "path: {type: array, items: {type: string}",
	},
	"argparse":          {`level: {type: string, enum: ["low", "high"],`, "num: {type: integer,", `description: "the name, which goes on here"`, "src: {type: array, items: {type: string}, description: \"the files\"}", "required: [src]"},
	"argparse commands": {"- name: init", `description: "start anew"`, "- name: run", `description: "run it"`},
	"go-flags": {
		"rawOutput: {type: boolean,", `argName: {type: string, description: "set a string`, `["--arg", "{argName}", "{argValue}"]`,
		`slurpfileName: {type: string, description: "set the JSON contents of a file`, `["--slurpfile", "{slurpfileName}", "{slurpfileFile}"]`, "additionalProperties: false",
	},
	"columns": {`write: {type: boolean, description: "write result to file"}`, `indent: {type: integer, description: "0 for tabs"}`, `"--indent={indent}"`},
	"Go":      {"count: {type: integer, description: \"how many (default 1)\"}", `["-count", "{count}"]`, `{if: v, args: ["-v"]}`, "wait: {type: string,", "arguments: {type: array"},
}

func draftOf(text string) string {
	u := Parse(text, "list")
	list := []Command{{Usage: u}}
	if len(u.Commands) > 0 {
		list = u.Commands
		for i := range list {
			list[i].Usage = &Usage{}
		}
		if len(u.Positionals) > 0 {
			list = append(list, Command{Usage: u})
		}
	}
	return Draft("prog", u.Summary, list)
}

func TestDraft_readsEachStyle(t *testing.T) {
	for style, want := range drafts {
		text := draftOf(helps[style])
		if _, _, err := toolfile.Parse([]byte(text)); err != nil {
			t.Errorf("%s: got %v, want a tool file:\n%s", style, err, text)
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: got\n%s\nwant %q in it", style, text, part)
			}
		}
		for _, part := range []string{"color", "help:", "completion"} {
			if strings.Contains(text, part) {
				t.Errorf("%s: got\n%s\nwant no %q in it", style, text, part)
			}
		}
	}
}

// A hostile help text gives a tool file that is read, or an empty one.
func TestDraft_hostileHelp(t *testing.T) {
	for _, text := range []string{
		"", "\x00\x01", "  --a\"b\\: ]}{ x  y\n", strings.Repeat("  --option-of-that-name=VALUE  help\n", 5000), "  -" + strings.Repeat("x", 1<<16) + "\n",
		"Usage: x " + strings.Repeat("[", 10000), "  --x={y}\n", "  --tools  {{x}}\n  --tools2: \"y\n", "  --a <B\n\n\t\n  --c]>  d\n", "  --true\n  --null X\n  -1 N  one\n",
		"  --a  \u202e\u2028\u0085x: y\n", "usage: prog {a,b} {{}} <x:y> 'z' \"q\"\n", "Commands:\n  a  \"\n  a-b  x\n  aB  y\n",
	} {
		draft := draftOf(text)
		if _, _, err := toolfile.Parse([]byte(draft)); err != nil {
			t.Errorf("%.60q: got %v, want a tool file:\n%.2000s", text, err, draft)
		}
	}
}

func FuzzDraft(f *testing.F) {
	for _, text := range helps {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			return
		}
		draft := draftOf(text)
		if _, _, err := toolfile.Parse([]byte(draft)); err != nil {
			t.Errorf("got %v, want a tool file:\n%s", err, text)
		}
	})
}

// The lines that continue an option, an argument or the usage are not copied for each further line: four times as many
// lines allocate about four times as much, where copying would allocate sixteen times as much. The allocations of one
// line depend on the build: the race detector empties the pool of the regular expressions.
func TestParse_copiesManyLinesOnce(t *testing.T) {
	for name, head := range map[string]string{
		"option":   "Options:\n  -a, --all  all\n",
		"argument": "Arguments:\n  <file>  a file\n",
		"usage":    "Usage: tool [options] <file>\n",
	} {
		_, few := parseMeasured(head + strings.Repeat("        x\n", 1<<13))
		u, many := parseMeasured(head + strings.Repeat("        x\n", 1<<15))
		if most := 6 * few; many > most {
			t.Errorf("%s: got %d bytes allocated for four times the lines of %d, want at most %d", name, many, few, most)
		}
		for _, o := range u.Options {
			if len(o.Help) > maxHelp+len("…") || !strings.HasPrefix(o.Help, "all x x x") {
				t.Errorf("%s: got help %.40q of %d bytes, want at most %d", name, o.Help, len(o.Help), maxHelp)
			}
		}
	}
}

// parseMeasured is Parse with the bytes it allocated.
func parseMeasured(text string) (*Usage, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	u := Parse(text)
	runtime.ReadMemStats(&after)
	return u, after.TotalAlloc - before.TotalAlloc
}
