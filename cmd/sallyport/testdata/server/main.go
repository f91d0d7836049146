// Command server is an MCP server on standard input and output that breaks the protocol in a different way in each of
// its tools, and in its handshake if it is built so.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// handshake is the misbehaviour of the handshake, set by the linker.
var handshake string

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

var (
	lines = make(chan []byte, 1)
	calls int
	born  = time.Now()
	early string // the outcome of the effect at the start

	hidden bool // the tool die is not listed

	table []uint32 // of the tool lookup, made on first use
)

// toolsOnly are the tools of a server that has nothing else.
var toolsOnly = map[string][]string{"cache": {"lookup"}, "state": {"lookup", "count"}, "waits": {"lookup", "stuck"},
	"dials": {"dial", "dialerror", "dialexit", "keyless"}}

// readAhead reads lines while others are served.
func readAhead() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		lines <- line
	}
}

// read returns the next message; at the end of the input the server ends.
func read() (m message) {
	if json.Unmarshal(<-lines, &m) != nil {
		os.Exit(0)
	}
	return m
}

func write(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

func answer(id json.RawMessage, result string) {
	write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func textResult(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted)
}

func main() {
	if code, ok := strings.CutPrefix(handshake, "exit"); ok {
		fmt.Fprintln(os.Stderr, "usage: server FILE")
		n, _ := strconv.Atoi(code)
		os.Exit(n)
	}
	if handshake == "signals" {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	atStart()
	go readAhead()
	for {
		switch m := read(); {
		case m.Method == "":
			early = string(m.Error)
		case m.ID != nil:
			serve(m)
		case handshake == "asks" && m.Method == "notifications/initialized":
			write(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
		}
	}
}

// atStart has an effect before the handshake.
func atStart() {
	switch handshake {
	case "random":
		early = rand.Text()
	case "file":
		_, err := os.Stat("/workspace/settings")
		early = fmt.Sprint(err)
	case "folder":
		early = fmt.Sprint(os.Getwd())
	case "temporary":
		early = fmt.Sprint(os.WriteFile("/tmp/x", nil, 0o600))
	}
}

func serve(m message) {
	switch m.Method {
	case "initialize":
		initialize(m.ID)
	case "tools/list":
		list(m)
	case "resources/list":
		answer(m.ID, `{"resources":[{"uri":"test://clock","name":"clock"}]}`)
	case "resources/templates/list":
		answer(m.ID, `{"resourceTemplates":[]}`)
	case "resources/read":
		answer(m.ID, `{"contents":[{"uri":"test://clock","text":"noon"}]}`)
	case "tools/call":
		var p struct{ Name string }
		_ = json.Unmarshal(m.Params, &p)
		call(p.Name, m.ID)
	case "ping":
		if handshake != "deaf" {
			answer(m.ID, "{}")
		}
	default:
		write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s"}}`, m.ID, m.Method)
	}
}

// large is more memory than a guest has.
var large []byte

func initialize(id json.RawMessage) {
	version := "2024-11-05"
	switch handshake {
	case "silent":
		return
	case "garbage":
		garbage()
		return
	case "wrongids":
		wrongIDs(id, "{}")
		return
	case "refusal":
		write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"not this version"}}`, id)
		return
	case "version":
		version = "1999-12-31"
	case "large":
		large = make([]byte, 100<<20)
	case "huge":
		large = make([]byte, 300<<20)
	}
	write("starting up")
	capabilities := `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	if toolsOnly[handshake] != nil {
		capabilities = `{"tools":{}}`
	}
	answer(id, `{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"serverInfo":{"name":"bad","version":"1"}}`)
}

// list lists one tool a page, or the only tools on one.
func list(m message) {
	if only := toolsOnly[handshake]; only != nil {
		answer(m.ID, `{"tools":[{"name":"`+strings.Join(only, `","inputSchema":{"type":"object"}},{"name":"`)+`","inputSchema":{"type":"object"}}]}`)
		return
	}
	names := []string{"count", "chatty", "huge", "ungranted", "flood", "deaf", "die", "hang", "refuse", "scalar", "progress", "process", "tick", "born", "leave", "restless", "hide", "show", "binary", "half", "batch", "panic", "trap", "gigabyte", "garbage", "wrongids"}
	if hidden {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "die" })
	}
	var p struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &p)
	i := 0
	_, _ = fmt.Sscan(p.Cursor, &i)
	next := fmt.Sprint(i + 1)
	if i+1 == len(names) {
		next = ""
	}
	if handshake == "pages" {
		next = "0"
	}
	answer(m.ID, fmt.Sprintf(`{"tools":[{"name":%q,"inputSchema":{"type":"object"}}],"nextCursor":%q}`, names[i], next))
}

// garbage writes lines that are no messages.
func garbage() {
	write("{{{ \x00 \x7f \xff [ not JSON")
	write(`{"jsonrpc":"2.0","id":`)
	write(`null`)
}

// wrongIDs answers requests that were not made: with other numbers and with other types of the id.
func wrongIDs(id json.RawMessage, result string) {
	for _, wrong := range []string{"0", "-1", "987654321", `"` + string(id) + `"`, string(id) + ".5", "null", "[" + string(id) + "]", "true"} {
		answer(json.RawMessage(wrong), result)
	}
	write(`{"jsonrpc":"2.0","result":%s}`, result)
}

// square looks a number up in the table.
func square(n int) uint32 {
	for i := uint32(0); len(table) < 1<<16; i++ {
		table = append(table, i*i)
	}
	return table[n]
}

// tools are all tools by name.
var tools map[string]func(id json.RawMessage)

func init() {
	tools = honestTools()
	maps.Copy(tools, needyTools())
	maps.Copy(tools, noisyTools())
	maps.Copy(tools, endingTools())
}

func call(name string, id json.RawMessage) {
	calls++
	if run := tools[name]; run != nil {
		run(id)
	}
}

// honestTools behave.
func honestTools() map[string]func(json.RawMessage) {
	return map[string]func(json.RawMessage){
		"born": func(id json.RawMessage) {
			answer(id, textResult(born.UTC().Format(time.RFC3339)+" "+early))
		},
		"count": func(id json.RawMessage) {
			answer(id, textResult(fmt.Sprint(calls)))
		},
		"lookup": func(id json.RawMessage) {
			answer(id, textResult(fmt.Sprint(square(5))))
		},
		"stuck": func(_ json.RawMessage) {
			read()
		},
		"leave": func(id json.RawMessage) {
			answer(id, textResult("goodbye"))
			os.Exit(0)
		},
		"restless": func(id json.RawMessage) {
			answer(id, textResult("at work"))
			for calls > 0 {
				calls++
			}
		},
		"hide": func(id json.RawMessage) {
			hidden = true
			write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			answer(id, textResult("hidden"))
		},
		"show": func(id json.RawMessage) {
			hidden = false
			time.AfterFunc(5*time.Millisecond, func() { write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) })
			answer(id, textResult("shown"))
		},
		"refuse": func(id json.RawMessage) {
			write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not like this"}}`, id)
		},
		"progress": func(id json.RawMessage) {
			write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"of no request","progress":1,"message":"lost"}}`)
			write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"sallyport","progress":2,"total":3,"message":"found"}}`)
			answer(id, textResult("done"))
		},
		"process": func(id json.RawMessage) {
			answer(id, textResult(strings.Join(os.Args, " ")+"\n"+strings.Join(os.Environ(), "\n")))
		},
		"tick": func(id json.RawMessage) {
			write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			write(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://clock"}}`)
			answer(id, textResult("ticked"))
		},
	}
}

// needyTools fail without a grant.
func needyTools() map[string]func(json.RawMessage) {
	dial := func() error {
		_, err := net.Dial("tcp", "127.0.0.1:80")
		return err
	}
	return map[string]func(json.RawMessage){
		"dial": func(id json.RawMessage) {
			answer(id, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":true}`, dial()))
		},
		"dialerror": func(id json.RawMessage) {
			write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":%q}}`, id, dial().Error())
		},
		"dialexit": func(json.RawMessage) {
			fmt.Fprintln(os.Stderr, dial())
			os.Exit(1)
		},
		"keyless": func(id json.RawMessage) {
			if os.Getenv("TOKEN") == "" {
				fmt.Fprintln(os.Stderr, "TOKEN is not set")
				os.Exit(1)
			}
			answer(id, textResult("has a token"))
		},
	}
}

// noisyTools write something that is no answer, or more than one.
func noisyTools() map[string]func(json.RawMessage) {
	return map[string]func(json.RawMessage){
		"chatty": func(id json.RawMessage) {
			write("a line of a log")
			write(`{"level":"info","msg":"a line of JSON"}`)
			write(`{"jsonrpc":"2.0","id":99,"result":%s}`, textResult("of no request"))
			write(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			write("[1,\n{]\n\n")
			write(`{"jsonrpc":"2.0","method":"notifications/unknown"}`)
			answer(id, textResult("the first answer"))
			answer(id, textResult("the second answer"))
		},
		"binary": func(id json.RawMessage) {
			write("\x00\xff\xfe\x01\x7fELF")
			write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"\xff"`, id) // cut off
			answer(id, textResult("after the bytes"))
		},
		"half": func(id json.RawMessage) {
			answer(id, `{"content":[{"type":"text","text":"caf`+"\xc3"+`"}]}`)
		},
		"batch": func(id json.RawMessage) {
			write(`[{"jsonrpc":"2.0","id":%s,"result":%s}]`, id, textResult("of a batch"))
			answer(id, textResult("alone"))
		},
		"gigabyte": func(id json.RawMessage) {
			for range 1 << 10 {
				fmt.Fprint(os.Stdout, strings.Repeat("x", 1<<20))
			}
			answer(id, textResult("behind it"))
		},
		"garbage": func(_ json.RawMessage) {
			garbage()
		},
		"wrongids": func(id json.RawMessage) {
			wrongIDs(id, textResult("of others"))
		},
		"huge": func(id json.RawMessage) {
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"x":"`, id)
			for range 100 {
				fmt.Fprint(os.Stdout, strings.Repeat("x", 1<<20))
			}
			write(`"}}`)
		},
		"ungranted": func(id json.RawMessage) {
			write(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":1}}`)
			refused := read()
			write(`{"jsonrpc":"2.0","id":"r","method":"server/made-up"}`)
			unknown := read()
			answer(id, textResult(string(refused.ID)+string(refused.Error)+string(unknown.ID)+string(unknown.Error)))
		},
		"flood": func(_ json.RawMessage) {
			for {
				write(`{"jsonrpc":"2.0","method":"notifications/made-up"}`)
			}
		},
		"deaf": func(_ json.RawMessage) {
			for {
				write(`{"jsonrpc":"2.0","id":"%s","method":"ping"}`, strings.Repeat("p", 64<<10))
			}
		},
		"scalar": func(id json.RawMessage) {
			answer(id, "3")
		},
	}
}

// endingTools end the server, or never answer.
func endingTools() map[string]func(json.RawMessage) {
	return map[string]func(json.RawMessage){
		"panic": func(id json.RawMessage) {
			var none *message
			answer(id, none.Method)
		},
		"trap": func(_ json.RawMessage) {
			for at := uintptr(1 << 31); ; at += 1 << 20 {
				*(*byte)(unsafe.Pointer(at)) = 1
			}
		},
		"die": func(_ json.RawMessage) {
			fmt.Fprintln(os.Stderr, "the disk is on fire")
			os.Exit(7)
		},
		"hang": func(id json.RawMessage) {
			go func() {
				for {
					time.Sleep(time.Minute)
				}
			}()
			write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"sallyport","progress":1,"message":"waits"}}`)
			read()
			answer(id, textResult("too late"))
		},
	}
}
