package runtime

import (
	"context"
	"crypto/rand"
	"encoding/binary"
)

// Usage is the resource consumption of a call.
type Usage struct {
	// Fuel is the computation of the guest, in units of about one instruction. It is deterministic.
	Fuel uint64
	// Memory is the peak size of the linear memory, in bytes.
	Memory uint64
}

// Accountant is implemented by a Gate that records the resource usage of its call.
type Accountant interface {
	// Used is called once, when the guest has ended, on the goroutine of the call.
	Used(Usage)
}

func report(g Gate, in *Instance) {
	if a, ok := g.(Accountant); ok {
		a.Used(Usage{Fuel: uint64(max(in.tank.spent(), 0)), Memory: in.memory.Peak()})
	}
}

// Seeder is implemented by a Gate that makes the randomness of its call reproducible.
type Seeder interface {
	// Seed returns the seed of the guest's own random number generators; if ok is false, it is chosen at random.
	Seed() (lo, hi uint64, ok bool)
}

// reseeder is an export (i64, i64) -> () of guests with seedable generators. Guests without it continue from the
// generator state of the image in each call.
const reseeder = "sallyport_reseed"

// reseed seeds the guest's generators, if it exports reseeder.
func (in *Instance) reseed(ctx context.Context) error {
	if !in.HasExport(reseeder) || in.Check(reseeder, []ValueType{I64, I64}, nil) != nil {
		return nil
	}
	lo, hi := seed(GateFrom(ctx))
	_, err := in.Call(ctx, reseeder, lo, hi)
	return err
}

func seed(g Gate) (lo, hi uint64) {
	if s, ok := g.(Seeder); ok {
		if lo, hi, ok := s.Seed(); ok {
			return lo, hi
		}
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
}
