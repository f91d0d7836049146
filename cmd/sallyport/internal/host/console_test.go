package host

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/internal/filelock"
)

// FindConsole waits for the address of a process that has just taken the lock. If none is written it fails, and never
// returns the address of an exited process.
func TestFindConsole_waits(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := settings.LoadAs("", t.TempDir(), map[string]string{"state": state})
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(s.State().Console()+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if free, err := filelock.Try(other); err != nil || !free {
		t.Fatal(free, err)
	}
	find := func() (string, error) {
		at, serving, stop, err := FindConsole(s, slog.New(slog.DiscardHandler), nil)
		if err == nil {
			stop()
		}
		if serving {
			t.Error("it is served twice")
		}
		return at, err
	}
	if at, err := find(); err == nil || at != "" || !strings.Contains(err.Error(), "try again") {
		t.Errorf("got %q %v, want an error, %q in it", at, err, "try again")
	}
	found := make(chan string, 1)
	go func() {
		at, err := find()
		if err != nil {
			at = err.Error()
		}
		found <- at
	}()
	const want = "http://127.0.0.1:1/#TOKEN"
	if err := os.WriteFile(s.State().Console(), []byte(`{"url":"`+want+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if at := <-found; at != want {
		t.Errorf("got %v, want %v", at, want)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	at, serving, stop, err := FindConsole(s, slog.New(slog.DiscardHandler), nil)
	if err != nil || !serving || at == want {
		t.Fatalf("got %q %v %v", at, serving, err)
	}
	stop()
}

// A host that serves the console and has published its state has no timer until that changes. Otherwise it tries again each
// second.
func TestConsoleKeeper_hasATimerOnlyForARetry(t *testing.T) {
	serves, published := make(chan bool), make(chan error)
	stirred, timers, fires := make(chan struct{}), make(chan time.Duration), make(chan time.Time)
	ctx, cancel := context.WithCancel(t.Context())
	ended, failures := make(chan struct{}), 0
	k := consoleKeeper{
		acquire: func() bool { return <-serves }, refresh: func() error { return <-published }, failed: func(error) { failures++ },
		stirred: stirred, after: func(d time.Duration) <-chan time.Time {
			timers <- d
			return fires
		},
	}
	go func() {
		defer close(ended)
		k.run(ctx)
	}()
	for _, step := range []struct {
		name   string
		serves bool
		err    error
		idle   bool
	}{
		{"another host serves it", false, nil, false},
		{"it is free", true, nil, true},
		{"the state changed and cannot be written", true, os.ErrPermission, false},
		{"it still cannot", true, os.ErrPermission, false},
		{"it can", true, nil, true},
		{"the state changed again", true, nil, true},
	} {
		serves <- step.serves
		published <- step.err
		if step.idle {
			select {
			case stirred <- struct{}{}:
			case d := <-timers:
				t.Fatalf("%s: got a timer of %v, want none", step.name, d)
			}
		}
		if got := <-timers; got != leaseInterval {
			t.Errorf("%s: got a timer of %v, want %v", step.name, got, leaseInterval)
		}
		fires <- time.Time{}
	}
	serves <- true
	published <- nil
	cancel()
	<-ended
	if failures != 1 {
		t.Errorf("got %d reports of a failure, want 1", failures)
	}
}
