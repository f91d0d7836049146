package server

import (
	"io"
	"sync"
)

// input is the standard input of a server: the host appends, the guest's side waits for bytes.
type input struct {
	mu      sync.Mutex
	changed *sync.Cond
	pending []byte
	closed  bool
}

func newInput() *input {
	in := &input{}
	in.changed = sync.NewCond(&in.mu)
	return in
}

// Read implements io.Reader. It waits for bytes or Close.
func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.pending) == 0 && !in.closed {
		in.changed.Wait()
	}
	if in.closed {
		return 0, io.EOF
	}
	n := copy(p, in.pending)
	in.pending = in.pending[n:]
	return n, nil
}

// Close ends the input, and a Read that waits.
func (in *input) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.pending = true, nil
	in.changed.Broadcast()
	return nil
}

// send appends a message on one line, and returns the bytes that the guest has not read.
func (in *input) send(line []byte) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending = append(append(in.pending, line...), '\n')
	in.changed.Broadcast()
	return len(in.pending)
}
