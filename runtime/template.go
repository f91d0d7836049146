package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sallyport-mcp/sallyport/runtime/image"
)

// initializer is the export that starts a module without a main function (a reactor).
const initializer = "_initialize"

// template is a started module, from which clean instances are copied.
type template struct {
	module *code
	terms  *terms
	room   uint64 // of the memory of an instance
	image  *image.Image
	values []value // of the numeric globals
	refs   *refImage
	note   any
}

// start runs a module's start-up code in a new instance, within the call it is bound to. A panic of the dialect fails
// only the instance: it may happen on a goroutine of the pool.
func (in *Instance) start(ctx context.Context, d Dialect) (err error) {
	defer func() {
		if r := recover(); r != nil {
			in.phase = running // its state is undefined
			end := hostFault(fmt.Errorf("%s dialect: %v", d.Name(), r))
			end.Stack = string(debug.Stack())
			err = end
		}
	}()
	data, err := in.module.segments()
	if err != nil {
		return hostFault(err)
	}
	for _, s := range data {
		if s.From != nil || !in.view.Write(s.Offset, s.Bytes) {
			return &EndError{Kind: KindTrap, Message: "the guest trapped: out of bounds memory access",
				Err: fmt.Errorf("a data segment of %d bytes at %d is not in the memory", len(s.Bytes), s.Offset)}
		}
	}
	if f := in.module.Info.Start; f != "" {
		if _, err := in.run(ctx, f); err != nil {
			return err
		}
	}
	if in.HasExport(initializer) {
		if _, err := in.Call(ctx, initializer); err != nil {
			return err
		}
	}
	if s, ok := d.(Starter); ok {
		return s.Start(ctx, in)
	}
	return nil
}

// fresh returns a new instance that shares no state with others, started and bound to the call. Its memory has room for
// later calls on other terms.
func (m *code) fresh(c *callContext, t *terms, room uint64, d Dialect) (*Instance, error) {
	if err := t.checkStart(m.Minimum, m.Beside); err != nil {
		return nil, &EndError{Kind: KindLimit, Message: err.Error()}
	}
	in, err := m.instantiate(c, t, m.engine.empty.Memory(room))
	if err != nil {
		return nil, err
	}
	in.begin(c)
	ctx, cancel := context.WithTimeoutCause(c, t.Start, errStart)
	defer cancel()
	if err := in.start(ctx, d); err != nil {
		in.end()
		in.close()
		return nil, err
	}
	return in, nil
}

// template takes the image of an instance that serves no call.
func (in *Instance) template(ctx context.Context) (*template, error) {
	values, err := in.values(ctx)
	if err != nil {
		return nil, hostFault(err)
	}
	t := &template{module: in.module, terms: in.terms, room: in.memory.Room(), values: values, note: in.note}
	if in.refs != nil {
		if t.refs, err = in.refs.describe(); err != nil {
			return nil, hostFault(err)
		}
	}
	t.image = in.module.images.New(in.memory.Bytes(), in.module.engine.way)
	return t, nil
}

// instance returns a clean instance.
func (t *template) instance(ctx context.Context) (*Instance, error) {
	in, err := t.module.instantiate(ctx, t.terms, t.image.Memory(t.room))
	if err != nil {
		return nil, err
	}
	in.from, in.note = t, t.note
	if in.refs != nil {
		in.refs.become(t.refs)
	}
	if err := in.setValues(ctx, t.values); err != nil {
		in.close()
		return nil, hostFault(err)
	}
	return in, nil
}

var errCannotShrink = errors.New("the engine cannot be told that a memory has shrunk")

// restore resets an instance to the image. After an error it can only be closed.
func (t *template) restore(ctx context.Context, in *Instance) error {
	grown := uint64(in.view.Size()) != t.image.Size()
	if err := in.memory.Restore(); err != nil {
		return err
	}
	if grown && !shrink(in.mod.Memory(), in.memory.Bytes()) {
		return errCannotShrink
	}
	if in.refs != nil {
		in.refs.restore()
	}
	in.note, in.phase = t.note, ready
	return in.setValues(ctx, t.values)
}

func (t *template) close() { t.image.Close() }
