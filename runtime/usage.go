package runtime

import (
	"context"
	"crypto/rand"
	"encoding/binary"
)

// Usage is what a call used.
type Usage struct {
	// Fuel is how much the guest computed, in units of about one instruction. The same code that does the same
	// uses the same.
	Fuel uint64
	// Memory is the most linear memory that the instance had, in bytes.
	Memory uint64
}

// Accountant is met by a Gate that wants to know what its call used.
type Accountant interface {
	// Used is called once, when the guest has ended, on the goroutine of the call.
	Used(Usage)
}

func report(g Gate, in *Instance) {
	if a, ok := g.(Accountant); ok {
		a.Used(Usage{Fuel: uint64(max(in.tank.spent(), 0)), Memory: in.memory.Peak()})
	}
}

// Seeder is met by a Gate whose call is to be the same each time.
type Seeder interface {
	// Seed returns what the guest's own generators of random numbers begin with, and false if that may be
	// anything.
	Seed() (lo, hi uint64, ok bool)
}

// reseeder is an export (i64, i64) -> () of guests whose own generators can be seeded. Without it they go on in each
// call as they were when the image was made.
const reseeder = "sallyport_reseed"

// reseed gives the guest's generators a seed, if it takes one.
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
	_, _ = rand.Read(b[:]) // which never fails
	return binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
}
