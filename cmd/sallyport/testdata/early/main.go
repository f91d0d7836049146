// Command early is an MCP server on standard input and output that has an effect before it serves a call. It knows
// nothing of Sallyport.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// table is made by each start, and takes over 5 million units of fuel.
var table = make([]uint32, 1<<20)

func init() {
	for i := range table {
		table[i] = uint32(i * i)
	}
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
}

var (
	in    = bufio.NewReader(os.Stdin)
	early string // the outcome of the effect
	calls int
)

// main takes the moment of the effect, its kind, and an address or a file.
func main() {
	moment, kind, of := os.Args[1], os.Args[2], os.Args[3]
	at := func(now string) {
		if now == moment {
			early = effect(kind, of)
		}
	}
	at("start")
	for {
		m := read()
		at(m.Method)
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"early","version":"1"}}`)
		case "tools/list":
			answer(m.ID, `{"tools":[{"name":"early","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}}]}`)
		case "prompts/list":
			answer(m.ID, `{"prompts":[]}`)
		case "tools/call":
			call(m)
		}
	}
}

func read() (m message) {
	line, err := in.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &m) != nil {
		os.Exit(0)
	}
	return m
}

func answer(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func effect(kind, of string) string {
	switch kind {
	case "random":
		return rand.Text()
	case "file":
		text, err := os.ReadFile(of)
		return fmt.Sprint(string(text), err)
	case "dated":
		return get(of + "?at=" + time.Now().UTC().Format("2006-01-02"))
	case "twice":
		return get(of) + " " + get(of)
	}
	return get(of)
}

func get(url string) string {
	client := http.Client{Timeout: 5 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// call answers with the outcome of the effect, the number of calls and a square, and behind a question to the client if
// the tool asks.
func call(m message) {
	calls++
	var p struct{ Name string }
	_ = json.Unmarshal(m.Params, &p)
	asked := ""
	if p.Name == "ask" {
		fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"well?","requestedSchema":{"type":"object","properties":{"random":{"type":"string"}}}}}`)
		asked = " " + strings.Join(strings.Fields(string(read().Result)), "")
	}
	text, _ := json.Marshal(fmt.Sprintf("%s|%d %d%s", early, calls, table[3], asked))
	answer(m.ID, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
}
