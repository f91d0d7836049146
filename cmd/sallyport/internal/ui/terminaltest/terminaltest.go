//go:build unix

// Package terminaltest runs a program under a pseudo-terminal and types as its operator.
//
//	p := terminaltest.Start(t, cmd)
//	p.Expect("[y/N]")
//	p.Type("yes")
//	err := p.Wait()
//
// The pseudo-terminal is only the program's controlling terminal: its standard input and output stay as the test set
// them.
package terminaltest

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// patience is the deadline of Expect, far longer than any program under test needs.
const patience = 60 * time.Second

// Person is the operator at the terminal of a running program.
type Person struct {
	t    testing.TB
	cmd  *exec.Cmd
	near *os.File // the test's end of the pseudo-terminal
	done chan struct{}

	mu   sync.Mutex
	seen strings.Builder
	news chan struct{} // closed and replaced with each output
	read int           // offset behind the last match of Expect
}

// Start starts cmd with a new pseudo-terminal as its controlling terminal. A program that still runs when the test ends
// is killed.
func Start(t testing.TB, cmd *exec.Cmd) *Person {
	t.Helper()
	return StartSized(t, cmd, 0)
}

// StartSized is Start with a terminal of so many columns; 0 is one that does not tell.
func StartSized(t testing.TB, cmd *exec.Cmd, columns uint16) *Person {
	t.Helper()
	near, far, err := pty.Open()
	if err == nil {
		err = pty.Setsize(near, &pty.Winsize{Cols: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{far} // descriptor 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	p := &Person{t: t, cmd: cmd, near: near, done: make(chan struct{}), news: make(chan struct{})}
	go p.watch()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		_ = near.Close()
		<-p.done
	})
	return p
}

// watch collects the terminal output until the terminal is closed.
func (p *Person) watch() {
	defer close(p.done)
	buf := make([]byte, 4096)
	for {
		n, err := p.near.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Seen returns all terminal output so far, with its line ends.
func (p *Person) Seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// Expect waits until a text appears in the output behind the last expected one, and fails the test otherwise.
func (p *Person) Expect(text string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		p.mu.Lock()
		at := strings.Index(p.seen.String()[p.read:], text)
		if at >= 0 {
			p.read += at + len(text)
		}
		news := p.news
		p.mu.Unlock()
		if at >= 0 {
			return
		}
		select {
		case <-news:
		case <-p.done:
			p.t.Fatalf("the terminal was left without %q; it shows\n%s", text, p.Seen())
		case <-late:
			p.t.Fatalf("%q does not come; the terminal shows\n%s", text, p.Seen())
		}
	}
}

// Type sends a line and its line end.
func (p *Person) Type(line string) {
	p.t.Helper()
	if _, err := p.near.WriteString(line + "\n"); err != nil {
		p.t.Fatal(err)
	}
}

// Wait waits for the program to exit, and for all that it wrote to the terminal: as the leader of its session it takes the
// terminal along.
func (p *Person) Wait() error {
	err := p.cmd.Wait()
	<-p.done
	return err
}
