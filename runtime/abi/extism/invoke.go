package extism

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// session is one instance with its kernel state. It calls any number of exports, one after the other.
type session struct {
	in     *runtime.Instance
	call   *call
	exited bool
}

func newSession(in *runtime.Instance) *session {
	return &session{in: in, call: newCall(in.Limits())}
}

// invoke calls an export with an input, given in parts, and returns a copy of its output.
//
//	input ─▶ arena ─▶ export() -> i32 ─▶ 0: the output   else, or with an error text: an *EndError
func (s *session) invoke(ctx context.Context, export string, input ...[]byte) ([]byte, error) {
	if s.exited {
		return nil, guestFault("the guest has exited before its %q was called", export)
	}
	if err := s.call.begin(input...); err != nil {
		return nil, err
	}
	s.in.Attach(s.call)
	code, err := s.run(ctx, export)
	if err != nil {
		return nil, err
	}
	if err := s.failed(export, code); err != nil {
		return nil, err
	}
	out := s.call.answer()
	if limit := s.in.Limits().Output; len(out) > limit {
		return nil, &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("the answer is over the limit of %d bytes", limit)}
	}
	return bytes.Clone(out), nil
}

// start runs the initialization of a language runtime; _initialize has already run.
func (s *session) start(ctx context.Context) error {
	const i32 = runtime.I32
	if err := s.call.begin(); err != nil {
		return err
	}
	s.in.Attach(s.call)
	var err error
	switch {
	case s.in.Check("hs_init", []byte{i32, i32}, nil) == nil: // Haskell
		_, err = s.in.Call(ctx, "hs_init", 0, 0)
	case s.in.HasExport("_initialize"):
	case s.in.Check("__wasm_call_ctors", nil, nil) == nil:
		_, err = s.in.Call(ctx, "__wasm_call_ctors")
	}
	return err
}

// run calls the export. An exit with code 0 counts as success.
func (s *session) run(ctx context.Context, export string) (code uint32, err error) {
	result, err := s.in.Call(ctx, export)
	var end *runtime.EndError
	if errors.As(err, &end) && end.Kind == runtime.KindExit && end.Code == 0 {
		s.exited = true
		return 0, nil
	}
	return uint32(result), err
}

// failed returns the error of an export that returned, nil on success.
func (s *session) failed(export string, code uint32) error {
	text := s.call.failureText()
	if text == "" && code == 0 {
		return nil
	}
	if text == "" {
		text = fmt.Sprintf("the guest's %q ended with code %d", export, int32(code))
	}
	return &runtime.EndError{Kind: runtime.KindGuest, Code: code, Message: text}
}
