// Effects is a guest that does what its arguments say, one thing after the other, and answers what came of
// each. It is how tests see what a guest can do to the host, and what it cannot.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

//go:wasmimport sallyport read
func read(stream int32, p unsafe.Pointer, n int32) int32

//go:wasmimport sallyport write
func write(stream int32, p unsafe.Pointer, n int32) int32

//go:wasmimport sallyport call
func ask(p unsafe.Pointer, n int32) int64

func main() {}

var count int

// step is one thing to do.
type step struct {
	Do     string
	Path   string
	To     string
	Text   string
	Times  int
	Params json.RawMessage
}

type arguments struct {
	Steps []step
	End   string          // "", code, error, trap, loop, raw
	Raw   json.RawMessage // the result, for raw
}

type request struct {
	Method string
	Params struct {
		Name      string
		Arguments arguments
	}
}

//go:wasmexport mcp_handle
func handle(size int32) int32 {
	raw := readAll(0, int(size))
	var r request
	if err := json.Unmarshal(raw, &r); err != nil {
		return 2
	}
	if r.Method == "plugin/describe" {
		return say(describe())
	}
	a := r.Params.Arguments
	var out []string
	for _, s := range a.Steps {
		out = append(out, s.Do+": "+do(s))
	}
	return end(a, strings.Join(out, "\n"))
}

func end(a arguments, text string) int32 {
	quoted, _ := json.Marshal(text)
	content := `"content":[{"type":"text","text":` + string(quoted) + `}]`
	switch a.End {
	case "raw":
		return say(`{"result":` + string(a.Raw) + `}`)
	case "code":
		return say(`{"error":{"code":7,"message":"no more"}}`)
	case "error":
		return say(`{"result":{"isError":true,` + content + `}}`)
	case "trap":
		panic("the end")
	case "loop":
		for {
		}
	}
	return say(`{"result":{` + content + `}}`)
}

func do(s step) string {
	result, err := perform(s)
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
		return "error " + no.Error()
	case err != nil:
		return "error " + err.Error()
	}
	return result
}

func perform(s step) (string, error) {
	switch s.Do {
	case "read":
		raw, err := os.ReadFile(s.Path)
		return string(raw), err
	case "reads": // again and again, for what changes meanwhile
		seen := map[string]bool{}
		for range s.Times {
			raw, err := os.ReadFile(s.Path)
			if err == nil {
				seen[string(raw)] = true
			}
		}
		return fmt.Sprint(seen), nil
	case "writes":
		for range s.Times {
			_ = os.WriteFile(s.Path, []byte(s.Text), 0o644)
			_ = os.Remove(s.Path)
		}
		return "ok", os.WriteFile(s.Path, []byte(s.Text), 0o644)
	case "readlink":
		return os.Readlink(s.Path)
	case "stat":
		info, err := os.Stat(s.Path)
		if err != nil {
			return "", err
		}
		return info.Mode().String(), nil
	case "list":
		return list(s.Path)
	case "count": // what a kept instance remembers
		count++
		return fmt.Sprint(count), nil
	case "sleep":
		time.Sleep(time.Duration(s.Times) * time.Millisecond)
		return "ok", nil
	case "remember":
		before := remembered
		remembered = s.Text
		return before, nil
	case "stdin":
		raw, err := io.ReadAll(os.Stdin)
		return "ended after " + strconv.Itoa(len(raw)) + " bytes", err
	case "spin":
		for {
		}
	case "environ":
		return strings.Join(os.Environ(), " "), nil
	case "fetch":
		return fetch(s.Params)
	case "ask":
		return askFor(s.Text, s.Params)
	case "increment":
		return increment(s.Text)
	}
	return "ok", change(s)
}

// change changes the file of the step.
func change(s step) error {
	switch s.Do {
	case "write":
		return os.WriteFile(s.Path, []byte(s.Text), 0o644)
	case "large":
		return os.WriteFile(s.Path, make([]byte, s.Times), 0o644)
	case "remove":
		return os.Remove(s.Path)
	case "removeall":
		return os.RemoveAll(s.Path)
	case "mkdir":
		return os.Mkdir(s.Path, 0o755)
	case "rename":
		return os.Rename(s.Path, s.To)
	case "symlink":
		return os.Symlink(s.To, s.Path)
	case "link":
		return os.Link(s.Path, s.To)
	case "truncate":
		return os.Truncate(s.Path, 0)
	case "chtimes":
		return os.Chtimes(s.Path, time.Unix(1, 0), time.Unix(1, 0))
	case "append":
		f, err := os.OpenFile(s.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(s.Text)
		return errors.Join(err, f.Close())
	}
	return errors.New("nobody knows how to " + s.Do)
}

// remembered is what a later call in the same instance finds.
var remembered string

func list(path string) (string, error) {
	entries, err := os.ReadDir(path)
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.Type()&fs.ModeDir != 0 {
			name += "/"
		}
		names = append(names, name)
	}
	return strings.Join(names, " "), err
}

// askFor asks the host for something and returns its answer.
func askFor(method string, params json.RawMessage) (string, error) {
	if params == nil {
		params = json.RawMessage("{}")
	}
	r := fmt.Sprintf(`{"method":%q,"params":%s}`, method, params)
	id := ask(unsafe.Pointer(unsafe.StringData(r)), int32(len(r)))
	if id < 0 {
		return "", fmt.Errorf("errno %d", -id)
	}
	return string(readAll(int32(id>>32), int(uint32(id)))), nil
}

// fetch asks for a page and returns the answer with its body.
func fetch(params json.RawMessage) (string, error) {
	head, err := askFor("http/fetch", params)
	var answer struct {
		Result struct{ Body map[string]int32 }
		Body   map[string]int32
	}
	if err != nil || json.Unmarshal([]byte(head), &answer) != nil {
		return head, err
	}
	for _, id := range []int32{answer.Result.Body["dev.sallyport/stream"], answer.Body["dev.sallyport/stream"]} {
		if id > 0 {
			head += " " + string(readAll(id, 1<<16))
		}
	}
	return head, nil
}

// increment adds one to the stored number of a key, unless another call changes it meanwhile.
func increment(key string) (string, error) {
	var item struct {
		Value, Version int
		Error          *struct{ Message string }
	}
	head, err := askFor("kv/get", json.RawMessage(fmt.Sprintf(`{"key":%q}`, key)))
	if err != nil {
		return "", err
	}
	var wrapped struct{ Result *json.RawMessage }
	if json.Unmarshal([]byte(head), &wrapped) == nil && wrapped.Result != nil {
		head = string(*wrapped.Result)
	}
	if err := json.Unmarshal([]byte(head), &item); err != nil || item.Error != nil {
		return "", errors.New(head)
	}
	return askFor("kv/set", json.RawMessage(fmt.Sprintf(`{"key":%q,"value":%d,"ifVersion":%d}`, key, item.Value+1, item.Version)))
}

func readAll(stream int32, size int) []byte {
	raw := make([]byte, size)
	for got := 0; got < size; {
		n := read(stream, unsafe.Pointer(&raw[got]), int32(size-got))
		if n <= 0 {
			return raw[:got]
		}
		got += int(n)
	}
	return raw
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

func describe() string {
	const input = `"inputSchema":{"type":"object","properties":{"steps":{"type":"array"},"end":{"type":"string"},"raw":{},"dir":{"type":"string"}}}`
	return `{"result":{"name":"effects","version":"1","tools":[
		{"name":"run","description":"does as it is told",` + input + `},
		{"name":"job","description":"does as it is told, as a task","execution":{"taskSupport":"optional"},` + input + `},
		{"name":"look","description":"does as it is told, and says it changes nothing","annotations":{"readOnlyHint":true},` + input + `},
		{"name":"promise","description":"answers what its schema says",` + input + `,
			"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}
	]}}`
}
