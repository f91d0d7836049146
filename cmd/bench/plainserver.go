package main

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// servePlain runs a server of Go in plain wazero, started once, with the standard streams of this process and nothing else.
func servePlain(file string) error {
	ctx := context.Background()
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	b := r.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	i32 := api.ValueTypeI32
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(streamStat), []api.ValueType{i32, i32}, []api.ValueType{i32}).Export("fd_fdstat_get")
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	input := &polledInput{parts: make(chan []byte)}
	go input.fill(os.Stdin)
	c := wazero.NewModuleConfig().WithArgs(file).WithStdin(input).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithSysWalltime().WithSysNanotime().WithSysNanosleep().WithRandSource(rand.Reader)
	_, err = r.InstantiateWithConfig(ctx, wasm, c)
	return err
}

// streamStat is fd_fdstat_get of a process that has the standard streams only, with a non-blocking input: programs of Go
// work on while they wait for such a one, and wazero has no setting for it.
func streamStat(_ context.Context, m api.Module, stack []uint64) {
	fd, at := uint32(stack[0]), uint32(stack[1])
	if stack[0] = 8; fd > 2 { // badf
		return
	}
	stat := make([]byte, 24)
	stat[0] = 2 // character_device
	if fd == 0 {
		stat[2] = 4 // nonblock
	}
	stat[8] = 1<<1 | 1<<6 // the rights to read and to write
	if stack[0] = 0; !m.Memory().Write(at, stat) {
		stack[0] = 21 // fault
	}
}

// polledInput is a standard input that a guest can wait for in poll_oneoff.
type polledInput struct {
	parts chan []byte
	rest  []byte // of a part; used by the guest's goroutine only
}

// fill reads parts until the end of the input.
func (p *polledInput) fill(r io.Reader) {
	defer close(p.parts)
	for {
		part := make([]byte, 64<<10)
		n, err := r.Read(part)
		if n > 0 {
			p.parts <- part[:n]
		}
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (p *polledInput) Read(to []byte) (int, error) {
	if len(p.rest) == 0 {
		select {
		case part, ok := <-p.parts:
			if !ok {
				return 0, io.EOF
			}
			p.rest = part
		default:
			return 0, sys.EAGAIN
		}
	}
	n := copy(to, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Poll implements sys.Pollable. The end of the input counts as ready.
func (p *polledInput) Poll(_ sys.Pflag, timeoutMillis int32) (bool, sys.Errno) {
	if len(p.rest) > 0 {
		return true, 0
	}
	late := time.NewTimer(time.Duration(timeoutMillis) * time.Millisecond)
	defer late.Stop()
	select {
	case part := <-p.parts:
		p.rest = part
		return true, 0
	case <-late.C:
		return false, 0
	}
}
