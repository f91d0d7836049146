// Package terminal asks the person who sits at the terminal that this process belongs to.
//
// What decides about grants is never read from standard input, a flag or a variable, since whoever starts a
// process chooses those, and that may be a model's shell tool:
//
//	standard input ──✕
//	/dev/tty, CONIN$ ──▶ Confirm ──▶ yes or no
//
// A process that has no controlling terminal has nobody to ask, and ErrNone says so:
//
//	t, err := terminal.Open()
//	if errors.Is(err, terminal.ErrNone) { … }
//	defer t.Close()
//	yes, err := t.Confirm(ctx, "plugin weather wants …", "allow it?")
//
// This package is internal to Sallyport: it is not promised to others.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ErrNone says that nobody can be asked.
var ErrNone = errors.New("there is no terminal to ask at")

// maxLine bounds a line that is typed, in bytes, as terminals do themselves.
const maxLine = 4096

// Terminal is the controlling terminal of this process. It serves one goroutine.
type Terminal struct {
	in, out *os.File
}

// Open opens the controlling terminal, whatever standard input and output are. ErrNone: there is none.
func Open() (*Terminal, error) {
	in, out, err := open()
	if err != nil {
		return nil, ErrNone // the system has many words for it
	}
	return &Terminal{in: in, out: out}, nil
}

// Is reports whether a file is a terminal, so that a person reads what is written there.
func Is(f *os.File) (is bool) {
	conn, err := f.SyscallConn() // Fd would have writes block
	if err == nil {
		err = conn.Control(func(fd uintptr) { is = term.IsTerminal(int(fd)) })
	}
	return is && err == nil
}

// Close gives the terminal back.
func (t *Terminal) Close() error {
	err := t.in.Close()
	if t.out != t.in {
		err = errors.Join(err, t.out.Close())
	}
	return err
}

// Confirm shows a text, which must hold no control characters but line ends, asks a question under it, and
// waits for the answer. Only y and yes are yes. What was typed before the question is not an answer to it. The
// error is that of ctx if it is done first.
func (t *Terminal) Confirm(ctx context.Context, text, question string) (bool, error) {
	if err := t.flush(); err != nil {
		return false, ErrNone
	}
	line, err := t.Line(ctx, strings.TrimRight(text, "\n")+"\n\n"+question+" [y/N] ")
	if errors.Is(err, io.EOF) { // the end of the terminal, or far too many words
		return false, nil
	}
	return isYes(line), err
}

// Line shows a prompt and reads one line, without its end. io.EOF: the person ended the input, or the line has no end
// within maxLine bytes. The error is that of ctx if it is done first.
func (t *Terminal) Line(ctx context.Context, prompt string) (string, error) {
	if _, err := fmt.Fprint(t.out, prompt); err != nil {
		return "", ErrNone
	}
	type read struct {
		line string
		err  error
	}
	answer := make(chan read, 1) // so that the reader ends when nobody waits for it any more
	go func() {
		line, err := bufio.NewReader(io.LimitReader(t.in, maxLine)).ReadString('\n')
		answer <- read{strings.TrimRight(line, "\r\n"), err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(t.out)
		return "", ctx.Err()
	case r := <-answer:
		if r.err != nil {
			return "", io.EOF
		}
		return r.line, nil
	}
}

// Secret shows a prompt and reads one line that the terminal does not show, without its end. Errors are those of Line.
func (t *Terminal) Secret(ctx context.Context, prompt string) (string, error) {
	fd := int(t.in.Fd())
	before, err := term.MakeRaw(fd) // nothing is shown from here on, also of what is typed before the prompt is read
	if err != nil {
		return "", ErrNone
	}
	defer func() { _ = term.Restore(fd, before) }() // the terminal is still there
	if err := t.flush(); err != nil {
		return "", ErrNone
	}
	if _, err := fmt.Fprint(t.out, prompt); err != nil {
		return "", ErrNone
	}
	type read struct {
		line []byte
		err  error
	}
	answer := make(chan read, 1) // so that the reader ends when nobody waits for it any more
	go func() {
		line, err := term.ReadPassword(fd)
		answer <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprint(t.out, "\r\n")
		return "", ctx.Err()
	case r := <-answer:
		fmt.Fprint(t.out, "\r\n")
		return string(r.line), r.err
	}
}

// Show writes a line for the person and for nobody who reads what this process writes.
func (t *Terminal) Show(line string) error {
	_, err := fmt.Fprintln(t.out, line)
	return err
}

func isYes(line string) bool {
	line = strings.TrimSpace(line)
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes")
}
