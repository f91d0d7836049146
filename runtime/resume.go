package runtime

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/sallyport-mcp/sallyport/runtime/wasmbin/rewrite"
)

// The imports in which a program waits for events and reads its clocks, and can be suspended.
const waitModule, waitName, clockName = "wasi_snapshot_preview1", "poll_oneoff", "clock_time_get"

// ErrSuspended is the error of a function of the guest that a host function ended by Suspend.
var ErrSuspended = errors.New("the guest is suspended")

// Suspend ends the running function of the guest, which is not a failure: the instance may be made clean and serve
// again. Only a host function may call it; it does not return. If that function is poll_oneoff of WASI and the module
// is Resumable, Instance.Resume continues the guest there, and Instance.ResumeClock if it is clock_time_get and the module
// is Clocked.
func Suspend() { panic(ErrSuspended) }

// Resumable reports whether a guest that is suspended in poll_oneoff can be resumed: its whole state is then in its
// memory and globals. It is so for programs that Go compiled.
func (m *Module) Resumable() bool { return m.code.Info.Resumable }

// Clocked reports whether a guest that is suspended in clock_time_get can be resumed, and the end of the stack that it
// started on, an address in its memory.
func (m *Module) Clocked() (stack uint32, ok bool) { return m.code.Info.Stack, m.code.Info.Clocked }

// Resume continues a guest in the poll_oneoff in which it was suspended, which is called again. The errors are those of
// Call. A guest of Go that returns has ended.
func (in *Instance) Resume(ctx context.Context) error {
	return in.resume(ctx, rewrite.WaitExport, in.module.Info.Resumable)
}

// ResumeClock is Resume for a guest that was suspended in clock_time_get.
func (in *Instance) ResumeClock(ctx context.Context) error {
	return in.resume(ctx, rewrite.ClockExport, in.module.Info.Clocked)
}

func (in *Instance) resume(ctx context.Context, export string, able bool) error {
	switch {
	case in.call == nil || callOf(ctx) != in.call:
		return hostFault(fmt.Errorf("resumed outside of the call that the instance serves"))
	case in.phase != ready || !able:
		return hostFault(errors.New("resumed while the guest runs, after its end, or without a way to resume"))
	}
	if _, err := in.run(ctx, export, 0); err != nil {
		return err
	}
	_, err := in.run(ctx, rewrite.LoopExport)
	return err
}

// Unused returns the part of the running goroutine's stack that is not in use, for a guest that is suspended in
// clock_time_get: the addresses in its memory where it begins and ends. What a function left there that returned has no
// effect. ok is false if the part is not known.
func (in *Instance) Unused() (from, to uint32, ok bool) {
	if !in.module.Info.Clocked || len(in.globals) <= goroutineGlobal {
		return 0, 0, false
	}
	// A goroutine, runtime.g, begins with the ends of its stack, whose size is a power of two.
	g, err := in.globals[goroutineGlobal].read(context.Background())
	sp, err2 := in.globals[stackGlobal].read(context.Background())
	bounds, there := in.view.Read(uint32(g[0]), 16)
	if err != nil || err2 != nil || !there {
		return 0, 0, false
	}
	low, high := binary.LittleEndian.Uint64(bounds), binary.LittleEndian.Uint64(bounds[8:])
	if low > sp[0] || sp[0] > high || bits.OnesCount64(high-low) != 1 {
		return 0, 0, false
	}
	return uint32(low), uint32(sp[0]), true
}

// OnGoroutine reports whether a guest that is in clock_time_get is there on the stack of a goroutine. On the stack that it
// started on it may be in the start of Go's runtime, where it cannot be resumed.
func (in *Instance) OnGoroutine() bool {
	_, sp, ok := in.Unused()
	end := in.module.Info.Stack
	return ok && (sp > end || uint64(sp)+startStack <= uint64(end))
}

// startStack is the size of the stack that a program of Go starts on, in bytes.
const startStack = 8192

// The globals of a program that Go linked, by their numbers: the stack pointer and the running goroutine.
const stackGlobal, goroutineGlobal = 0, 2

// Note attaches a value to the instance that describes its state, and must not be changed later. Copies of an image
// begin with the value that its instance had.
func (in *Instance) Note(v any) { in.note = v }

// Noted returns the value of Note, or nil.
func (in *Instance) Noted() any { return in.note }

// Kept reports whether later calls are served by the instance as this call leaves it.
func (in *Instance) Kept() bool { return in.kept }

// Discard gives up the instance after this call, whose result stays valid.
func (in *Instance) Discard() { in.phase = running }

// Spent returns the fuel of the call up to now.
func (in *Instance) Spent() uint64 { return uint64(max(in.tank.spent(), 0)) }

// Allow limits the fuel that is left for the rest of the call.
func (in *Instance) Allow(fuel uint64) { in.tank.allow(fuel) }
