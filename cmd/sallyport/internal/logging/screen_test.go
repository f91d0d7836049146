package logging

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// reader is the terminal of a screen; it blocks until reads is closed.
type reader struct {
	text  bytes.Buffer
	reads chan struct{} // closed when reading begins
}

func (r *reader) Write(p []byte) (int, error) {
	<-r.reads
	return r.text.Write(p)
}

// Writes do not block on the reader. Dropped lines are counted at their place when there is room again.
func TestScreen_dropsAndCountsLinesOfASlowReader(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			out := &reader{reads: make(chan struct{})}
			s := NewScreen(out)
			s.Detach(asJSON)
			line := strings.Repeat("x", 1023) + "\n"
			io.WriteString(s, line)
			synctest.Wait() // a write is blocked now
			for range maxWaiting>>10 + 37 {
				if n, err := io.WriteString(s, line); n != len(line) || err != nil {
					t.Fatal(n, err)
				}
			}
			close(out.reads)
			synctest.Wait()
			io.WriteString(s, "after\n")
			s.Close(time.Second)
			missing := "37 lines are missing here: standard error was not read\n"
			if asJSON {
				missing = `{"@level":"warn","@message":"37 lines are missing here: standard error was not read"}` + "\n"
			}
			want := strings.Repeat(line, maxWaiting>>10+1) + missing + "after\n"
			if got := out.text.String(); got != want {
				t.Errorf("%d bytes, want %d, the end %q", len(got), len(want), got[max(0, len(got)-200):])
			}
		})
	}
}

// Close waits a bounded time for a reader that blocks.
func TestScreen_closeWaitsABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &reader{reads: make(chan struct{})}
		defer close(out.reads)
		s := NewScreen(out)
		s.Detach(false)
		fmt.Fprintln(s, "hello")
		began := time.Now()
		s.Close(time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		s.Close(0)
	})
}

// Flush returns when earlier output is written, or after its patience.
func TestScreen_flushWaitsForEarlierOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &reader{reads: make(chan struct{})}
		s := NewScreen(out)
		s.Flush(time.Second) // nothing to wait for before Detach
		s.Detach(false)
		fmt.Fprintln(s, "hello")
		began := time.Now()
		s.Flush(time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("flush to a reader that blocks: got %v, want 1s", took)
		}
		fmt.Fprintln(s, "again")
		close(out.reads)
		s.Flush(time.Second)
		if got := out.text.String(); got != "hello\nagain\n" {
			t.Errorf("after flush: got %q, want both lines", got)
		}
		s.Close(time.Second)
		s.Flush(time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("flush to a reader that reads: got %v more, want none", took-time.Second)
		}
	})
}

// Before Detach, writes go directly to the output.
func TestScreen_writesDirectlyBeforeDetach(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out)
	fmt.Fprintln(s, "hello")
	if out.String() != "hello\n" {
		t.Errorf("got %q, want %q", out.String(), "hello\n")
	}
	s.Close(time.Second)
}
