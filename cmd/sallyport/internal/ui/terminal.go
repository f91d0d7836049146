package ui

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

// ErrNoTerminal is returned when there is no usable controlling terminal.
var ErrNoTerminal = errors.New("there is no terminal to ask at")

// maxLine is the limit of a typed line in bytes, the same as that of common terminals.
const maxLine = 4096

// Terminal is the controlling terminal of this process. It is not safe for concurrent use.
type Terminal struct {
	in, out *os.File
}

// OpenTerminal opens the controlling terminal, independent of standard input and output. Without one it returns
// ErrNoTerminal.
func OpenTerminal() (*Terminal, error) {
	in, out, err := open()
	if err != nil {
		return nil, ErrNoTerminal // the system's error differs by platform
	}
	return &Terminal{in: in, out: out}, nil
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) (is bool) {
	conn, err := f.SyscallConn() // Fd would set the file to blocking mode
	if err == nil {
		err = conn.Control(func(fd uintptr) { is = term.IsTerminal(int(fd)) })
	}
	return is && err == nil
}

// Close closes the terminal.
func (t *Terminal) Close() error {
	err := t.in.Close()
	if t.out != t.in {
		err = errors.Join(err, t.out.Close())
	}
	return err
}

// Confirm shows text and a question, and waits for the answer: only "y" and "yes" (any case) are true. The text must
// hold no control characters except line ends. Input typed before the question is discarded. The error is that of ctx
// if it is done first.
func (t *Terminal) Confirm(ctx context.Context, text, question string) (bool, error) {
	if err := t.flush(); err != nil {
		return false, ErrNoTerminal
	}
	line, err := t.Line(ctx, strings.TrimRight(text, "\n")+"\n\n"+question+" [y/N] ")
	if errors.Is(err, io.EOF) { // end of input, or a line over maxLine
		return false, nil
	}
	return isYes(line), err
}

// Line shows a prompt and reads one line, without its line end. It returns io.EOF at the end of input or if the line
// exceeds maxLine, and the error of ctx if it is done first.
func (t *Terminal) Line(ctx context.Context, prompt string) (string, error) {
	if _, err := fmt.Fprint(t.out, prompt); err != nil {
		return "", ErrNoTerminal
	}
	type read struct {
		line string
		err  error
	}
	answer := make(chan read, 1) // buffered, so that the reader ends after ctx is done
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

// Secret shows a prompt and reads one line without echo, without its line end. It returns the error of ctx if it is
// done first.
func (t *Terminal) Secret(ctx context.Context, prompt string) (string, error) {
	fd := int(t.in.Fd())
	before, err := term.MakeRaw(fd) // no echo from here on, including input typed before the prompt
	if err != nil {
		return "", ErrNoTerminal
	}
	defer func() { _ = term.Restore(fd, before) }() // the terminal still exists
	if err := t.flush(); err != nil {
		return "", ErrNoTerminal
	}
	if _, err := fmt.Fprint(t.out, prompt); err != nil {
		return "", ErrNoTerminal
	}
	type read struct {
		line []byte
		err  error
	}
	answer := make(chan read, 1) // buffered, so that the reader ends after ctx is done
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

// Show writes a line to the terminal only, not to standard output.
func (t *Terminal) Show(line string) error {
	_, err := fmt.Fprintln(t.out, line)
	return err
}

func isYes(line string) bool {
	line = strings.TrimSpace(line)
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes")
}
