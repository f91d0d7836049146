package folder

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// record is an owner that reads files.
type record struct {
	mu      sync.Mutex
	sources map[string]bool
	stamps  map[string]fileid.Stamp
	content map[string]string
	shown   []string      // names made visible by the last Show
	hold    chan struct{} // nil, or blocks loading until it is closed
	looks   chan struct{} // receives at the begin of each load
}

func (r *record) Sources() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.sources)
}

func (r *record) Stamps() map[string]fileid.Stamp {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.stamps)
}

func (r *record) Stamp(path string) (fileid.Stamp, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.stamps[path]
	return s, ok
}

func (r *record) Found(string) {}

func (r *record) Begin(path string) func(context.Context) Result {
	return func(context.Context) Result {
		r.mu.Lock()
		hold := r.hold
		r.mu.Unlock()
		select {
		case r.looks <- struct{}{}:
		default: // nothing waits for it
		}
		if hold != nil {
			<-hold
		}
		content, st, err := fileid.Read(path)
		return Result{Stamp: st, Err: err, Discard: func() {}, Apply: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.stamps[path], r.content[path] = st, string(content)
		}}
	}
}

func (r *record) Remove(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.stamps, path)
	delete(r.content, path)
}

func (r *record) Show() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = nil
	for path, content := range r.content {
		r.shown = append(r.shown, filepath.Base(path)+"="+content)
	}
	slices.Sort(r.shown)
}

func (r *record) Idle() {}

func (r *record) show() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.shown, " ")
}

func newRecord() *record {
	return &record{looks: make(chan struct{}, 1), sources: map[string]bool{}, stamps: map[string]fileid.Stamp{}, content: map[string]string{}}
}

// start watches a folder until the test ends.
func start(t *testing.T, dir string, change func(*Watcher)) (*Watcher, *record) {
	t.Helper()
	r := newRecord()
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	w := New(ctx, Options{Dir: dir, Files: r, Go: work.Go, Logger: slog.New(slog.DiscardHandler)})
	if change != nil {
		change(w)
	}
	work.Go(w.Run)
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
	return w, r
}

func write(t *testing.T, path, content string) {
	t.Helper()
	temp := filepath.Join(filepath.Dir(path), ".new")
	if err := os.WriteFile(temp, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
}

// eventually polls until these files are shown. Notifications of the kernel are merged, so that a test cannot count
// the events before a state.
func eventually(t *testing.T, r *record, want string) {
	t.Helper()
	const pause = 5 * time.Millisecond
	for range time.Minute / pause {
		if r.show() == want {
			return
		}
		time.Sleep(pause)
	}
	t.Fatalf("%q is shown, never %q", r.show(), want)
}

// ready triggers a scan and waits for it.
func ready(t *testing.T, w *Watcher) {
	t.Helper()
	w.Touch("")
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWatcher_addsReplacesAndRemoves(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.wasm"), "1")
	write(t, filepath.Join(dir, "no.txt"), "1")
	w, r := start(t, dir, nil)
	ready(t, w)
	if got := r.show(); got != "a.wasm=1" {
		t.Errorf("after Ready: got %q, want \"a.wasm=1\"", got)
	}
	write(t, filepath.Join(dir, "a.wasm"), "2")
	write(t, filepath.Join(dir, "B.WASM"), "3")
	eventually(t, r, "B.WASM=3 a.wasm=2")
	os.Remove(filepath.Join(dir, "a.wasm"))
	eventually(t, r, "B.WASM=3")
}

// savingRecord saves a file when its sources are asked for, which is after the folder was read.
type savingRecord struct {
	*record
	save func()
}

func (r savingRecord) Sources() map[string]bool {
	r.save()
	return nil
}

// A file that is saved after the first scan has read the folder is reported by the system.
func TestWatcher_seesASaveDuringItsFirstScan(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.wasm")
	w := New(t.Context(), Options{Dir: dir, Logger: slog.New(slog.DiscardHandler), Files: savingRecord{newRecord(), func() {
		if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
			t.Error(err)
		}
	}}})
	events, _ := w.events.start()
	defer w.events.close()
	if here := w.list(); len(here) != 0 {
		t.Fatalf("got %v, want nothing in the folder yet", here)
	}
	select {
	case e := <-events:
		if e.Name != path {
			t.Errorf("got an event of %s, want one of %s", e.Name, path)
		}
	case <-time.After(time.Minute):
		t.Error("got no event within a minute, want one of the file")
	}
}

// Without file system notifications, the folder is polled.
func TestWatcher_pollsWithoutTheSystem(t *testing.T) {
	dir := t.TempDir()
	_, r := start(t, dir, func(w *Watcher) {
		w.events.open = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many") }
	})
	write(t, filepath.Join(dir, "a.wasm"), "1")
	eventually(t, r, "a.wasm=1")
	os.Remove(filepath.Join(dir, "a.wasm"))
	eventually(t, r, "")
}

func TestWatcher_followsSources(t *testing.T) {
	dir := t.TempDir()
	one, off := filepath.Join(dir, "one"), filepath.Join(dir, "off")
	write(t, one, "1")
	write(t, off, "1")
	w, r := start(t, "", func(w *Watcher) { w.Files.(*record).sources = map[string]bool{one: true, off: false} })
	ready(t, w)
	if got := r.show(); got != "one=1" {
		t.Errorf("got %q, want \"one=1\"", got)
	}
	write(t, one, "2")
	eventually(t, r, "one=2")
	r.mu.Lock()
	r.sources = nil
	r.mu.Unlock()
	ready(t, w)
	eventually(t, r, "")
}

// A file that changes during loading is loaded again.
func TestWatcher_loadsAFileThatChangesMeanwhileAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.wasm")
	hold := make(chan struct{})
	write(t, path, "1")
	w, r := start(t, dir, func(w *Watcher) { w.Files.(*record).hold = hold })
	w.Touch("")
	<-r.looks
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.Ready(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready while a file is read: got %v, want %v", err, context.DeadlineExceeded)
	}
	write(t, path, "2")
	w.Touch(path)
	close(hold)
	eventually(t, r, "a.wasm=2")
}

// The test takes the place of Run. Its clock is behind that of the file system, so that the time since a stamp was first
// seen decides.
func TestWatcher_waitsUntilAFileIsUnchanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.wasm")
	r := newRecord()
	now := time.Now().Add(-time.Hour)
	w := New(t.Context(), Options{Dir: dir, Files: r, Go: func(f func()) { f() }, Logger: slog.New(slog.DiscardHandler)})
	w.now = func() time.Time { return now }
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			w.mark(path)
		}
		w.due()
		now = now.Add(fileid.SettleTime - 1)
		w.due()
		if len(w.results) != 0 {
			t.Fatalf("after write %d: got a load, want none before the file is unchanged for %v", i, fileid.SettleTime)
		}
	}
	f.Close()
	now = now.Add(1)
	w.due()
	if len(w.results) != 1 {
		t.Fatalf("got %d loads %v after the last write, want 1", len(w.results), fileid.SettleTime)
	}
	w.finish(<-w.results)
	if got, want := r.show(), "a.wasm=xxxxxxxx"; got != want {
		t.Errorf("shown: got %q, want %q", got, want)
	}
}

func TestWatcher_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := New(ctx, Options{Files: &record{}, Go: func(f func()) { go f() }, Logger: slog.New(slog.DiscardHandler)})
	cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run()
		for range 100 { // more than the channel's capacity
			w.Touch("x")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("got no end within a minute, want one")
	}
}

// Looked waits for files that are being loaded, and publishes them; it does not wait for one that is being written, so
// that it has just changed by the clock of the watcher.
func TestLooked_ignoresWrittenFiles(t *testing.T) {
	dir := t.TempDir()
	hold := make(chan struct{})
	now := time.Now().Add(time.Hour)
	var clock atomic.Int64 // nanoseconds since 1970
	clock.Store(now.UnixNano())
	for _, name := range []string{"a.wasm", "b.wasm"} {
		write(t, filepath.Join(dir, name), "1")
	}
	if err := os.Chtimes(filepath.Join(dir, "b.wasm"), now, now); err != nil {
		t.Fatal(err)
	}
	w, r := start(t, dir, func(w *Watcher) {
		w.Files.(*record).hold = hold
		w.now = func() time.Time { return time.Unix(0, clock.Load()) }
	})
	w.Touch("")
	<-r.looks
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.Looked(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Looked while a file is read: got %v, want %v", err, context.DeadlineExceeded)
	}
	close(hold)
	if err := w.Looked(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.show(); got != "a.wasm=1" {
		t.Errorf("got %q, want \"a.wasm=1\"", got)
	}
	clock.Add(int64(fileid.SettleTime))
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, r, "a.wasm=1 b.wasm=1")
}
