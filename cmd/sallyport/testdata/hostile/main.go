// Hostile is a guest that tries to get out of its sandbox, and to hurt the host, a tool for each way.
// It uses the bare imports: a development kit would stand in its way.
package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"unsafe"
)

//go:wasmimport sallyport read
func read(stream int32, p unsafe.Pointer, n int32) int32

//go:wasmimport sallyport write
func write(stream int32, p unsafe.Pointer, n int32) int32

//go:wasmimport sallyport call
func ask(p unsafe.Pointer, n int32) int64

//go:wasmimport sallyport close
func closeStream(stream int32) int32

func main() {}

type request struct {
	Method string `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments args   `json:"arguments"`
	} `json:"params"`
}

type args struct {
	Text string `json:"text"`
	N    int    `json:"n"`
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
	return tools()[r.Params.Name](r.Params.Arguments)
}

func say(s string) int32 {
	if len(s) == 0 {
		return 0
	}
	if n := write(1, unsafe.Pointer(unsafe.StringData(s)), int32(len(s))); int(n) != len(s) {
		return 3
	}
	return 0
}

func text(format string, a ...any) int32 {
	quoted, _ := json.Marshal(fmt.Sprintf(format, a...))
	return say(`{"result":{"content":[{"type":"text","text":` + string(quoted) + `}]}}`)
}

func tools() map[string]func(args) int32 {
	return map[string]func(args) int32{
		"fine":  func(a args) int32 { return text("%s", a.Text) },
		"raw":   func(a args) int32 { return say(a.Text) },
		"typed": func(a args) int32 { return say(a.Text) },
		"bytes": func(a args) int32 { return say(a.Text + strings.Repeat("[", a.N)) },
		"files": files, "race": race, "edges": edges, "streams": streams,
		"fetch": fetch, "drain": drain, "flight": flight,
		"log": flood("notifications/message", `{"level":"error","data":"x"}`), "progress": progress, "stderr": stderr,
		"again": again, "stack": stack, "grow": grow, "denials": denials, "round": round,
	}
}

func describe() string {
	var list []string
	for n := range tools() {
		output := ""
		if n == "typed" {
			output = `,"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}`
		}
		list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, n, output))
	}
	return `{"result":{"name":"hostile","version":"1","tools":[` + strings.Join(list, ",") + `]}}`
}

// readAll is what an answer holds.
func readAll(answer int64) string {
	if answer < 0 {
		return fmt.Sprint("errno ", -answer)
	}
	id, all, buf := int32(answer>>32), []byte{}, make([]byte, 64<<10)
	for {
		n := read(id, unsafe.Pointer(&buf[0]), int32(len(buf)))
		if n <= 0 {
			closeStream(id)
			return string(all)
		}
		all = append(all, buf[:n]...)
	}
}

func askText(request string) string {
	return readAll(ask(unsafe.Pointer(unsafe.StringData(request)), int32(len(request))))
}
