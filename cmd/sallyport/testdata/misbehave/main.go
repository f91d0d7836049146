// Misbehave is a guest that does what no plugin should, a tool for each way. It speaks the native
// dialect with bare hands, since a development kit would keep it from half of this.
package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"
)

//go:wasmimport sallyport read
func read(stream int32, p unsafe.Pointer, n int32) int32

//go:wasmimport sallyport write
func write(stream int32, p unsafe.Pointer, n int32) int32

func main() {}

type request struct {
	Method string `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Text string `json:"text"`
		} `json:"arguments"`
	} `json:"params"`
}

//go:wasmexport mcp_handle
func handle(size int32) int32 {
	raw := make([]byte, size)
	for got := int32(0); got < size; {
		n := read(0, unsafe.Pointer(&raw[got]), size-got)
		if n <= 0 {
			return 1
		}
		got += n
	}
	var r request
	if err := json.Unmarshal(raw, &r); err != nil {
		return 2
	}
	if r.Method == "plugin/describe" {
		return say(describe())
	}
	return tools()[r.Params.Name](r.Params.Arguments.Text)
}

func say(s string) int32 {
	for len(s) > 0 {
		n := write(1, unsafe.Pointer(unsafe.StringData(s)), int32(len(s)))
		if n <= 0 {
			return 3
		}
		s = s[n:]
	}
	return 0
}

func text(s string) int32 {
	quoted, _ := json.Marshal(s)
	return say(`{"result":{"content":[{"type":"text","text":` + string(quoted) + `}]}}`)
}

func tools() map[string]func(string) int32 {
	return map[string]func(string) int32{
		"fine":  text,
		"panic": func(s string) int32 { fmt.Fprintln(os.Stderr, "about to fail:", s); panic("no more " + s) },
		"trap":  func(string) int32 { var p *int; return int32(*p) },
		"loop": func(string) int32 {
			for {
			}
		},
		"exit":   func(string) int32 { os.Exit(7); return 0 },
		"code":   func(string) int32 { return 42 },
		"silent": func(string) int32 { return 0 },
		"stdout": func(s string) int32 { fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{}}`); return text(s) },
		"stderr": func(s string) int32 { fmt.Fprintln(os.Stderr, "said to the log:", s); return text(s) },
		"huge":   func(string) int32 { return text(strings.Repeat("x", 1<<20)) },
		"gigabyte": func(string) int32 {
			b := make([]byte, 1<<30)
			return text(string(b))
		},
		"claim": func(string) int32 { return write(1, nil, 1<<30) },
		"utf8": func(string) int32 {
			return say("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\"}]}}")
		},
		"notjson": func(string) int32 { return say("hello") },
		"shape":   func(string) int32 { return say(`{"result":{"content":"none"}}`) },
		"meta": func(string) int32 {
			return say(`{"result":{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"evil"},"com.mcp/x":1,"mine/ok":2}}}`)
		},
		"code32022": func(string) int32 {
			return say(`{"error":{"code":-32022,"message":"unsupported","data":{"supported":[]}}}`)
		},
		"file": func(s string) int32 {
			b, err := os.ReadFile(s)
			if err != nil {
				return text("error: " + err.Error())
			}
			return text(string(b))
		},
		"remember": func(s string) int32 {
			before := remembered
			remembered = s
			return text(before)
		},
		"facts": func(string) int32 {
			random := make([]byte, 8)
			_, _ = rand.Read(random)
			before := time.Now()
			time.Sleep(time.Hour)
			return text(fmt.Sprintf("%x at %v, slept %v", random, before.UTC(), time.Since(before).Round(time.Second)))
		},
		"environ": func(string) int32 { return text(strings.Join(os.Environ(), "\n")) },
	}
}

// remembered is what a later call in the same instance would find.
var remembered string

func describe() string {
	var list []string
	for name := range tools() {
		list = append(list, fmt.Sprintf(`{"name":%q,"description":"misbehaves","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`, name))
	}
	return `{"result":{"name":"misbehave","version":"1","tools":[` + strings.Join(list, ",") + `]}}`
}
