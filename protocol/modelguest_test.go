package protocol_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// step is one operation of a program. Its unique name is also the name of the object it changes.
type step struct {
	Op string `json:"op"`
	ID string `json:"id"`
	Of []step `json:"of,omitempty"`
}

// The steps of a program.
const (
	opGet    = "get"    // safe request
	opPost   = "post"   // mutating request
	opAsked  = "asked"  // request that needs confirmation
	opKey    = "key"    // stores a key
	opCount  = "count"  // increments a counter in a key
	opWrite  = "write"  // creates a file
	opAppend = "append" // appends to an existing file
	opRemove = "remove" // removes an existing file
	opMove   = "move"   // moves an existing file
	opDirect = "direct" // appends to an existing file in a direct mount
	opAsk    = "ask"    // asks the client
	opRound  = "round"  // several concurrent requests
	opCall   = "call"   // has another plugin run a program
	opNo     = "no"     // the tool fails here
	opTrap   = "trap"   // the guest traps here
)

// program generates the steps of one call.
func program(rng *rand.Rand, prefix string, depth int) []step {
	ops := []string{opGet, opPost, opPost, opKey, opCount, opWrite, opAppend, opRemove, opMove, opDirect}
	if depth == 0 {
		ops = append(ops, opPost, opAsked, opAsk, opAsk, opRound, opCall)
	}
	list := make([]step, 1+rng.IntN(5))
	for i := range list {
		s := step{Op: ops[rng.IntN(len(ops))], ID: fmt.Sprintf("%s%d", prefix, i)}
		switch s.Op {
		case opRound:
			for j := range 1 + rng.IntN(3) {
				of := []string{opGet, opPost, opAsked, opAsk, opKey}[rng.IntN(5)]
				s.Of = append(s.Of, step{Op: of, ID: fmt.Sprintf("%sr%d", s.ID, j)})
			}
		case opCall:
			s.Of = program(rng, s.ID+"c", depth+1)
		}
		list[i] = s
	}
	if n := rng.IntN(12); n < 2 {
		list = append(list, step{Op: []string{opNo, opTrap}[n], ID: prefix + "end"})
	}
	return list
}

// each calls f for each step, including nested ones.
func each(list []step, f func(step)) {
	for _, s := range list {
		f(s)
		each(s.Of, f)
	}
}

// guest implements a plugin that runs the program in its arguments. Its answer has the outcome of each step.
func (h *host) guest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	arguments := jsonraw.Get(params, "arguments")
	var list []step
	if err := json.Unmarshal(jsonraw.Get(arguments, "steps"), &list); err != nil {
		return nil, err
	}
	name, _ := jsonraw.String(jsonraw.Get(arguments, "dir"))
	g := &guest{host: h, gate: runtime.GateFrom(ctx), dir: name}
	failed, err := g.run(ctx, list)
	if err != nil {
		return nil, err
	}
	text, _ := json.Marshal(strings.Join(g.said, " "))
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":%v}`, text, failed), nil
}

// guest is one run of a program.
type guest struct {
	host *host
	gate runtime.Gate
	dir  string // of this schedule, within each mount
	said []string
	open []io.ReadCloser
}

func (g *guest) run(ctx context.Context, list []step) (failed bool, err error) {
	for _, s := range list {
		if g.host.dead.Load() {
			panic(died{})
		}
		switch s.Op {
		case opNo:
			return true, nil
		case opTrap:
			return false, &runtime.EndError{Kind: runtime.KindTrap, Message: "unreachable"}
		}
		text, err := g.do(ctx, s)
		var refused *runtime.AskError
		if errors.As(err, &refused) {
			text, err = "("+refused.Error()+")", nil
		}
		if err != nil {
			return false, err
		}
		g.said = append(g.said, s.ID+"="+text)
	}
	return false, nil
}

// do performs one step.
func (g *guest) do(ctx context.Context, s step) (string, error) {
	switch s.Op {
	case opRound:
		return g.round(ctx, s.Of)
	case opCount:
		return g.count(ctx, s.ID)
	case opWrite, opAppend, opRemove, opMove, opDirect:
		return g.file(s)
	}
	q := g.question(s)
	raw, err := g.gate.Ask(ctx, q.Method, q.Params, g)
	return g.answer(raw), err
}

// question returns a step as a question to the gate.
func (g *guest) question(s step) runtime.Question {
	up := g.host.world.up.URL
	request := func(method, path string) runtime.Question {
		return runtime.Question{Method: "http/fetch", Params: fmt.Appendf(nil, `{"method":%q,"url":%q}`, method, up+path+g.dir+"/"+s.ID)}
	}
	switch s.Op {
	case opGet:
		return request("GET", "/free/")
	case opPost:
		return request("POST", "/free/")
	case opAsked:
		return request("POST", "/asked/")
	case opKey:
		return runtime.Question{Method: "kv/set", Params: fmt.Appendf(nil, `{"key":%q,"value":1}`, g.dir+"/"+s.ID)}
	case opCall:
		steps, _ := json.Marshal(s.Of)
		return runtime.Question{Method: "tools/call", Params: fmt.Appendf(nil, `{"name":"q-run","arguments":{"dir":%q,"steps":%s}}`, g.dir, steps)}
	}
	return runtime.Question{Method: "elicitation/create", Key: s.ID, Params: fmt.Appendf(nil,
		`{"message":%q,"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`, s.ID)}
}

// round asks several questions at once.
func (g *guest) round(ctx context.Context, of []step) (string, error) {
	var list []runtime.Question
	for _, s := range of {
		list = append(list, g.question(s))
	}
	var text []string
	for i, a := range g.gate.(runtime.Rounds).AskRound(ctx, list, g) {
		var refused *runtime.AskError
		switch {
		case errors.As(a.Err, &refused):
			text = append(text, of[i].ID+"="+"("+refused.Error()+")")
		case a.Err != nil:
			return "", a.Err
		default:
			text = append(text, of[i].ID+"="+g.answer(a.Result))
		}
	}
	return "[" + strings.Join(text, " ") + "]", nil
}

// answer summarizes an answer in one word, with the body of a response.
func (g *guest) answer(raw json.RawMessage) string {
	if jsonraw.Get(raw, "status") == nil {
		if content := jsonraw.Get(raw, "content"); content != nil {
			return "(" + string(content) + ")"
		}
		return "ok"
	}
	body := g.open[len(g.open)-1]
	if id := jsonraw.Get(raw, "body", "dev.sallyport/stream"); id != nil {
		var n int
		if json.Unmarshal(id, &n) == nil && n >= 0 && n < len(g.open) {
			body = g.open[n]
		}
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return "cut"
	}
	return string(text)
}

// count increments a counter in a key.
func (g *guest) count(ctx context.Context, id string) (string, error) {
	raw, err := g.gate.Ask(ctx, "kv/get", fmt.Appendf(nil, `{"key":%q}`, g.dir+"/"+id), g)
	if err != nil {
		return "", err
	}
	n := 0
	_ = json.Unmarshal(jsonraw.Get(raw, "value"), &n) // null leaves zero
	_, err = g.gate.Ask(ctx, "kv/set", fmt.Appendf(nil, `{"key":%q,"value":%d,"ifVersion":%s}`, g.dir+"/"+id, n+1, jsonraw.Get(raw, "version")), g)
	return "ok", err
}

// Open keeps a stream and returns its handle.
func (g *guest) Open(r io.ReadCloser) (uint32, error) {
	g.open = append(g.open, r)
	return uint32(len(g.open) - 1), nil
}

// Take returns no stream, as all bodies are text.
func (g *guest) Take(uint32) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(nil)), 0, errors.New("no such stream")
}

// file changes one file.
func (g *guest) file(s step) (string, error) {
	tree := g.gate.(wasi.Host).WASI().Tree()
	folder := "files"
	if s.Op == opDirect {
		folder = "direct"
	}
	path := filepath.Join(g.host.world.dir, folder, g.dir, s.ID)
	var e wasi.Errno
	switch s.Op {
	case opRemove:
		e = tree.Unlink(path)
	case opMove:
		e = tree.Rename(path, path+"-moved")
	default:
		e = put(tree, path, s.Op == opWrite)
	}
	if e != wasi.ESUCCESS {
		return e.Error(), nil
	}
	return "ok", nil
}

// put appends a letter to a file, created if create is set.
func put(tree wasi.Tree, path string, create bool) wasi.Errno {
	f, e := tree.Open(path, wasi.OpenOptions{Read: true, Write: true, Create: create, Exclusive: create})
	if e != wasi.ESUCCESS {
		return e
	}
	defer f.Close()
	s, e := f.Stat()
	if e == wasi.ESUCCESS {
		_, e = f.WriteAt([]byte("x"), int64(s.Size))
	}
	return e
}
