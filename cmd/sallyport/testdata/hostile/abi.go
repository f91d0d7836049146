package main

import (
	"fmt"
	"os"
	"strings"
	"unsafe"
)

// at is a pointer that Go would not make.
func at(p uint32) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// edges hands numbers to the four imports that no program has.
func edges(args) int32 {
	var out []string
	note := func(name string, result int64) { out = append(out, fmt.Sprintf("%s=%d", name, result)) }
	var b [8]byte
	p := unsafe.Pointer(&b[0])
	note("read at the end of memory", int64(read(0, at(0xffffffff), 1)))
	note("read of 4 GiB", int64(read(0, at(0), -1)))
	note("read of 2 GiB", int64(read(0, at(0x80000000), -0x80000000)))
	note("read of nothing outside", int64(read(0, at(0xffffffff), 0)))
	note("read of the response", int64(read(1, p, 8)))
	note("read of stream 2", int64(read(2, p, 8)))
	note("read of stream -1", int64(read(-1, p, 8)))
	note("write of 4 GiB", int64(write(1, at(0), -1)))
	note("write past the end", int64(write(1, at(0xfffffff0), 32)))
	note("write to the request", int64(write(0, p, 1)))
	note("write to stream -1", int64(write(-1, p, 1)))
	note("call past the end", ask(at(0xfffffff0), 32))
	note("call of 4 GiB", ask(at(0), -1))
	note("close of 0", int64(closeStream(0)))
	note("close of 1", int64(closeStream(1)))
	note("close of -1", int64(closeStream(-1)))
	for _, r := range []string{"", "null", "[]", "{}", `{"method":5}`, `{"method":"x"}`, `{"method":"x","method":"y"}`, `{"method":"x","params":[]}`,
		strings.Repeat("[", 1000), `{"method":"stream/open","params":{"limit":-1}}`, `{"method":"stream/open","params":{"limit":9999999999999999999}}`,
		`{"method":"stream/open","params":{"limit":1e9}}`, `{"method":"tools/call","params":{}}`, strings.Repeat(" ", 2<<20)} {
		a := askText(r)
		if _, after, ok := strings.Cut(a, `"kind":"`); ok {
			a, _, _ = strings.Cut(after, `"`)
		}
		out = append(out, fmt.Sprintf("ask %.30q=%s", r, a))
	}
	return text("%s", strings.Join(out, "\n"))
}

// streams opens as many as it gets, fills them, and answers with what is not its own.
func streams(a args) int32 {
	if a.Text != "" {
		return say(`{"result":{"content":[{"type":"image","mimeType":"image/png","data":{"dev.sallyport/stream":` + a.Text + `}}]}}`)
	}
	const open = `{"method":"stream/open"}`
	opened, refused := 0, ""
	for range 100 {
		if r := askText(open); strings.Contains(r, "result") {
			opened++
		} else {
			refused = r
		}
	}
	held, piece := 0, make([]byte, 1<<20)
	for id := int32(2); id < 300; id++ {
		for write(id, unsafe.Pointer(&piece[0]), 1<<20) > 0 {
			held++
		}
	}
	return text("%d opened, %d MiB held, %v", opened, held, strings.HasPrefix(refused, "errno 33"))
}

// round asks for many things in one call.
func round(a args) int32 {
	one := `{"method":"notifications/message","params":{"level":"info","data":"x"}},`
	return text("%.60s", askText("["+strings.TrimSuffix(strings.Repeat(one, a.N), ",")+"]"))
}

// again asks for ever, whatever the answer is.
func again(args) int32 {
	const r = `{"method":"x"}`
	for {
		if id := ask(unsafe.Pointer(unsafe.StringData(r)), int32(len(r))); id >= 0 {
			closeStream(int32(id >> 32))
		}
	}
}

// flood asks for one thing n times.
func flood(method, params string) func(args) int32 {
	return func(a args) int32 {
		r := `{"method":"` + method + `","params":` + params + `}`
		for range a.N {
			if id := ask(unsafe.Pointer(unsafe.StringData(r)), int32(len(r))); id >= 0 {
				closeStream(int32(id >> 32))
			}
		}
		return text("done")
	}
}

func progress(a args) int32 {
	for i := range a.N {
		if id := askID(fmt.Sprintf(`{"method":"notifications/progress","params":{"progress":%d}}`, i)); id >= 0 {
			closeStream(id)
		}
	}
	return text("done")
}

func askID(r string) int32 {
	return int32(ask(unsafe.Pointer(unsafe.StringData(r)), int32(len(r))) >> 32)
}

// denials asks for what it may not have, something else each time.
func denials(a args) int32 {
	for i := range a.N {
		if id := askID(fmt.Sprintf(`{"method":"http/fetch","params":{"url":"https://%d.example/"}}`, i)); id >= 0 {
			closeStream(id)
		}
	}
	return say(`{"result":{"isError":true,"content":[]}}`)
}

// stderr writes n MiB, without a line end.
func stderr(a args) int32 {
	mib := make([]byte, 1<<20)
	for i := range mib {
		mib[i] = "\x1b[2J\u202e"[i%7]
	}
	for range a.N {
		os.Stderr.Write(mib)
	}
	return text("done")
}

// stack never returns.
func stack(a args) int32 { return deeper(a.N) }

//go:noinline
func deeper(n int) int32 { return deeper(n+1) + int32(n) }

// grow takes all memory that there is, and touches it.
func grow(a args) int32 {
	var all [][]byte
	for range a.N {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	return text("%d", len(all))
}
