package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
)

const week = 7 * 24 * time.Hour

// newTestFolder returns a folder with a clock, and its path.
func newTestFolder(t *testing.T) (f *Folder, now *time.Time, dir string) {
	t.Helper()
	now = new(time.Time)
	*now = time.Unix(1_000_000_000, 0)
	keys, dir := sealed.Random(), filepath.Join(t.TempDir(), "recorded")
	return NewFolder(Options{Dir: dir, Keys: func() (*sealed.Keys, error) { return keys, nil }, Now: func() time.Time { return *now }}), now, dir
}

func callAt(at time.Time, n int) *Call {
	return &Call{Plugin: "demo", Digest: "sha256:1", Time: at.UTC(), Method: "tools/call", Kind: "tool", Entry: "send",
		Params: json.RawMessage(fmt.Sprintf(`{"arguments":{"n":%d,"text":"buy milk"}}`, n)), Answer: json.RawMessage(`{}`),
		Exchanges: []Exchange{{Family: "net", Act: "GET https://a.example/", Request: []byte("milk"), Outcome: []byte("r\x02{}")}}}
}

// files returns the files of the plugin.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "demo", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestFolder_sealsCalls(t *testing.T) {
	f, now, dir := newTestFolder(t)
	want := callAt(*now, 1)
	if err := f.Put(want, week); err != nil {
		t.Fatal(err)
	}
	got, err := f.Calls("demo", week)
	if err != nil || got.Damaged != 0 || len(got.All) != 1 || !reflect.DeepEqual(&got.All[0], want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, path := range files(t, dir) {
		raw, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("milk")) || bytes.Contains(raw, []byte("a.example")) || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("got %s with mode %v, want it sealed and owner-only", raw, info.Mode())
		}
	}
	if other, err := f.Calls("other", week); err != nil || len(other.All)+other.Damaged != 0 {
		t.Errorf("another plugin: got %+v, %v, want none", other, err)
	}
}

// A damaged file is counted, and hides no other call.
func TestFolder_leavesDamagedCallsOut(t *testing.T) {
	f, now, dir := newTestFolder(t)
	if err := f.Put(callAt(*now, 1), week); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(files(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	name := func(n int) string {
		return filepath.Join(dir, "demo", fmt.Sprintf("%020d-x.call", now.UnixNano()+int64(n)))
	}
	foreign := sealed.Random()
	for i, content := range [][]byte{
		nil, raw[:len(raw)-1], raw[:10], append([]byte("A"), raw...), bytes.ToUpper(raw), []byte("{}"),
		[]byte(foreign.Seal([]byte(purpose + "{}"))), make([]byte, maxFile+1),
	} {
		if err := os.WriteFile(name(i+1), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys, _ := f.o.Keys()
	for i, text := range []string{"{}", purpose, purpose + "{", purpose + `{"plugin":"other"}`, purpose + `[1]`} {
		if err := os.WriteFile(name(100+i), []byte(keys.Seal([]byte(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(files(t, dir)[0], name(200)), os.Mkdir(name(201), 0o700)); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Calls("demo", week); err != nil || len(got.All) != 1 || got.Damaged != 15 {
		t.Errorf("got %d calls and %d damaged, %v, want 1 and 15", len(got.All), got.Damaged, err)
	}
}

// A folder is bounded: old calls go, and of too many those that are closest to others in time, so that a burst leaves
// the days before.
func TestFolder_isBounded(t *testing.T) {
	f, now, dir := newTestFolder(t)
	begin := *now
	for day := range 7 {
		*now = begin.Add(time.Duration(day) * 24 * time.Hour)
		if err := f.Put(callAt(*now, day), week); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxFiles + 50 {
		*now = now.Add(time.Second)
		if err := f.Put(callAt(*now, 100+i), week); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Calls("demo", week)
	if err != nil || len(got.All) != maxFiles {
		t.Fatalf("got %d calls, %v, want %d", len(got.All), err, maxFiles)
	}
	for day := range 7 {
		if want := begin.Add(time.Duration(day) * 24 * time.Hour); !got.All[day].Time.Equal(want) {
			t.Errorf("call %d: got that of %v, want %v", day, got.All[day].Time, want)
		}
	}
	*now = begin.Add(week + 3*24*time.Hour + time.Hour)
	if err := f.Put(callAt(*now, 9), week); err != nil {
		t.Fatal(err)
	}
	if got, err = f.Calls("demo", week); err != nil || got.All[0].Time.Before(now.Add(-week)) {
		t.Errorf("after a week: got the first of %v, %v, want none older than a week", got.All[0].Time, err)
	}
	*now = now.Add(MaxAge + time.Hour)
	f.Prune(nil)
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("after %v: got %v, want none", MaxAge, left)
	}
}

func TestFolder_isBoundedInBytes(t *testing.T) {
	f, now, dir := newTestFolder(t)
	for i := range 12 {
		*now = now.Add(time.Minute)
		c := callAt(*now, i)
		c.Exchanges[0].Outcome = make([]byte, 2*MaxCall)
		if err := f.Put(c, week); err != nil {
			t.Fatal(err)
		}
	}
	var size int64
	for _, path := range files(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > maxBytes || size < maxBytes/2 {
		t.Errorf("got %d bytes, want at most %d, and no empty folder", size, maxBytes)
	}
	c := callAt(*now, 99)
	c.Exchanges[0].Outcome = make([]byte, 4*MaxCall)
	if err := f.Put(c, week); err == nil {
		t.Error("a huge call: got success, want an error")
	}
}

// A write that was interrupted leaves a file that is no call, and goes after an hour. A folder that cannot be written
// is an error that leaves nothing.
func TestFolder_survivesInterruptedWrites(t *testing.T) {
	f, now, dir := newTestFolder(t)
	if err := f.Put(callAt(*now, 1), week); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "demo", prefix+"1")
	if err := errors.Join(os.WriteFile(left, []byte("half"), 0o600), os.Chtimes(left, *now, *now)); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Calls("demo", week); err != nil || len(got.All) != 1 || got.Damaged != 0 {
		t.Errorf("got %+v, %v, want the one call", got, err)
	}
	f.Prune(nil)
	if _, err := os.Stat(left); err != nil {
		t.Errorf("at once: got %v, want the file there, since it may be being written", err)
	}
	*now = now.Add(2 * time.Hour)
	f.Prune(nil)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after two hours: got %v, want it gone", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "blocked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	blocked := callAt(*now, 2)
	blocked.Plugin = "blocked"
	if err := f.Put(blocked, week); err == nil {
		t.Error("a file in place of the folder: got success, want an error")
	}
	broken := NewFolder(Options{Dir: dir, Keys: func() (*sealed.Keys, error) { return nil, errors.New("no keys") }})
	if _, err := broken.Calls("demo", week); err == nil || broken.Put(callAt(*now, 3), week) == nil {
		t.Errorf("without keys: got %v, want errors", err)
	}
}

func TestFolder_removesTheCallsOfAPlugin(t *testing.T) {
	f, now, _ := newTestFolder(t)
	if err := errors.Join(f.Put(callAt(*now, 1), week), f.Remove("demo"), f.Remove("never")); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Calls("demo", week); err != nil || len(got.All) != 0 {
		t.Errorf("got %+v, %v, want none", got, err)
	}
}

func BenchmarkFolder_put(b *testing.B) {
	keys := sealed.Random()
	f := NewFolder(Options{Dir: filepath.Join(b.TempDir(), "recorded"), Keys: func() (*sealed.Keys, error) { return keys, nil }})
	for b.Loop() {
		if err := f.Put(callAt(time.Now(), 1), week); err != nil {
			b.Fatal(err)
		}
	}
}
