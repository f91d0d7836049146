package compiler

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines takes what is logged, and says when something was.
type lines struct {
	mu    sync.Mutex
	text  strings.Builder
	first chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() == 0 {
		close(l.first)
	}
	return l.text.Write(p)
}

// Whoever waits for a compilation is told why, and whoever does not wait long is told nothing.
func TestSayIfLong(t *testing.T) {
	out := &lines{first: make(chan struct{})}
	log := slog.New(slog.NewTextHandler(out, nil))
	if !sayIfLong(log, time.Hour)() {
		t.Error("it was told at once")
	}
	sayIfLong(log, 0)
	<-out.first
	out.mu.Lock()
	defer out.mu.Unlock()
	if text := out.text.String(); !strings.Contains(text, "being compiled") {
		t.Errorf("%q", text)
	}
}
