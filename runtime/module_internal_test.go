package runtime

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
)

// brittle is an engine whose compiler panics.
type brittle struct{ wazero.Runtime }

func (brittle) CompileModule(context.Context, []byte) (wazero.CompiledModule, error) {
	panic("index out of range")
}

var empty = []byte("\x00asm\x01\x00\x00\x00")

func TestEngine_compileReturnsPanicsAsErrors(t *testing.T) {
	e, err := NewEngine(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e.runtime = brittle{e.runtime}
	for range 2 {
		if _, err := e.Compile(context.Background(), empty); err == nil || err.Error() != "the compiler cannot compile this module" {
			t.Errorf("got %v, want an error", err)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// The end of ctx ends the wait for a processor.
func TestEngine_compileStopsWaitingWithItsContext(t *testing.T) {
	e, err := NewEngine(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range cap(e.compiles) {
		e.compiles <- struct{}{}
	}
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(reason)
	if _, err := e.Compile(ctx, empty); !errors.Is(err, reason) {
		t.Errorf("got %v, want %v", err, reason)
	}
	<-e.compiles
	m, err := e.Compile(context.Background(), empty)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Close(), e.Close(context.Background())); err != nil {
		t.Error(err)
	}
}
