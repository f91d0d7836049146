package commit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/commit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/fstest"
)

// TestMain runs the process that is killed in TestCrash_leavesSetUndoneOrFinished.
func TestMain(m *testing.M) {
	if where := os.Getenv("LANDING_TEST_DIE"); where != "" {
		step, _ := strconv.Atoi(where)
		fmt.Println(dying(os.Getenv("LANDING_TEST_DIR"), os.Getenv("LANDING_TEST_HOW"), step))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// dying lands the set of a world, and kills its process after the given number of steps. How selects variants: keys
// that are kept with the files, no hard links, a change that cannot be applied.
func dying(dir, how string, step int) error {
	changes, err := set(dir)
	if err != nil {
		return err
	}
	if strings.Contains(how, "fails") {
		changes = append(changes, unappliable(dir, changes[0]))
	}
	ctx := commit.Watch(context.Background(), func(at string) {
		if at == "prepared" && strings.Contains(how, "linkless") {
			unlink(dir)
		}
		if at == "committed" && strings.Contains(how, "fails") {
			_ = errors.Join(os.Mkdir(filepath.Join(dir, "files/zz"), 0o700), os.WriteFile(filepath.Join(dir, "files/zz/x"), nil, 0o600))
		}
		if step--; step == 0 {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {}
		}
	})
	var keys commit.Keys
	if strings.Contains(how, "keys") {
		keys = shelf(filepath.Join(dir, "kept"))
	}
	return commit.LandWith(ctx, filepath.Join(dir, "state"), changes, keys)
}

// unlink removes the hard links, as on a file system without them.
func unlink(dir string) {
	links, _ := filepath.Glob(filepath.Join(dir, "files", commit.Prefix+"*-was"))
	for _, l := range links {
		_ = os.Remove(l)
	}
}

// unappliable is a change that fails at last, at a folder that is not empty.
func unappliable(dir string, like commit.Change) commit.Change {
	like.Name, like.Path, like.Was, like.Check = "zz", filepath.Join(dir, "files/zz"), nil, false
	like.Put = &commit.Entry{Dir: true}
	return like
}

// shelf implements commit.Keys with a file, written in one step.
type shelf string

func (s shelf) Keep(id string, apply func() error) error {
	if err := apply(); err != nil {
		return err
	}
	return os.WriteFile(string(s), []byte(id), 0o600)
}

func (s shelf) Kept(id string) (bool, error) {
	raw, err := os.ReadFile(string(s))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return string(raw) == id, err
}

func (s shelf) Ended(string) {}

func text(s string) *commit.Entry {
	return &commit.Entry{Content: bytes.NewReader([]byte(s)), Size: int64(len(s))}
}

// set returns one change of each kind for the files of a world.
func set(dir string) ([]commit.Change, error) {
	files := filepath.Join(dir, "files")
	root, err := os.OpenRoot(files)
	if err != nil {
		return nil, err
	}
	stat := func(name string) fs.FileInfo {
		info, _ := root.Lstat(name)
		return info
	}
	change := func(name string, c commit.Change) commit.Change {
		c.Folder, c.Name, c.Path, c.Was = root, name, filepath.Join(files, name), stat(name)
		return c
	}
	sub, err := os.OpenRoot(filepath.Join(files, "gone"))
	if err != nil {
		return nil, err
	}
	inside, err := sub.Lstat("x")
	if err != nil {
		return nil, err
	}
	replaced := text("new A")
	replaced.Like = stat("a")
	moved := &commit.Entry{From: &commit.Source{Folder: sub, Name: "x", Path: filepath.Join(files, "gone/x"), Was: inside}}
	return []commit.Change{
		change("a", commit.Change{Put: replaced, Check: true}),
		change("b", commit.Change{Remove: true}),
		change("gone", commit.Change{Remove: true}),
		{Folder: sub, Name: "x", Path: filepath.Join(files, "gone/x"), Was: inside, Remove: true},
		change("made", commit.Change{Check: true, Put: &commit.Entry{Dir: true, Children: []commit.Child{
			{"x", moved}, {"n", text("N")}, {"l", &commit.Entry{Target: "n"}},
		}}}),
		change("turned", commit.Change{Put: &commit.Entry{Dir: true, Children: []commit.Child{{"t", text("T")}}}}),
	}, nil
}

var (
	before = []string{"a=A", "b=B", "gone/", "gone/x=X", "other=O", "turned=file"}
	after  = []string{"a=new A", "made/", "made/l->n", "made/n=N", "made/x=X", "other=O", "turned/", "turned/t=T"}
)

func world(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		name, text, is := strings.Cut(f, "=")
		path := filepath.Join(dir, "files", name)
		if !is {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func list(t *testing.T, dir string) []string { return fstest.List(t, filepath.Join(dir, "files")) }

func land(t *testing.T, dir string, changes []commit.Change) error {
	t.Helper()
	return commit.Land(t.Context(), filepath.Join(dir, "state"), changes)
}

func TestLand_appliesEachKindOfChange(t *testing.T) {
	dir := world(t)
	if err := os.Chmod(filepath.Join(dir, "files/a"), 0o604); err != nil {
		t.Fatal(err)
	}
	changes, err := set(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := land(t, dir, changes); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); !slices.Equal(got, after) {
		t.Errorf("got  %q\nwant %q", got, after)
	}
	if info, _ := os.Stat(filepath.Join(dir, "files/a")); info.Mode().Perm() != 0o604 {
		t.Errorf("got mode %v, want %v", info.Mode(), os.FileMode(0o604))
	}
	if records, _ := filepath.Glob(filepath.Join(dir, "state", "*.json*")); len(records) > 0 {
		t.Errorf("after landing: got records %v, want none", records)
	}
}

// A conflict leaves all files unchanged.
func TestLand_allOrNothing(t *testing.T) {
	for name, break_ := range map[string]func(dir string) error{
		"another content":        func(dir string) error { return os.WriteFile(dir+"/files/a", []byte("theirs"), 0o600) },
		"another file there":     func(dir string) error { return os.Mkdir(dir+"/files/made", 0o700) },
		"what moves has changed": func(dir string) error { return os.WriteFile(dir+"/files/gone/x", []byte("theirs"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := world(t)
			changes, err := set(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := break_(dir); err != nil {
				t.Fatal(err)
			}
			want := list(t, dir)
			var path *commit.PathError
			if err := land(t, dir, changes); !errors.Is(err, commit.ErrConflict) || !errors.As(err, &path) {
				t.Errorf("got %v, want %v with a path", err, commit.ErrConflict)
			}
			if got := list(t, dir); !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// A folder that cannot be renamed to its new name is detected after the other changes are applied.
func TestLand_undoes(t *testing.T) {
	dir := world(t)
	changes, err := set(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := append(list(t, dir), "turned2/", "turned2/x=X")
	slices.Sort(want)
	// Nothing is checked here, so a folder that appears is only detected by the rename.
	extra := changes[0]
	extra.Name, extra.Path, extra.Was, extra.Check = "turned2", filepath.Join(dir, "files/turned2"), nil, false
	extra.Put = &commit.Entry{Dir: true}
	first := true
	ctx := commit.Watch(t.Context(), func(at string) {
		if at == "applied" && first {
			first = false
			if err := errors.Join(os.Mkdir(extra.Path, 0o700), os.WriteFile(extra.Path+"/x", []byte("X"), 0o600)); err != nil {
				t.Error(err)
			}
		}
	})
	if err := commit.Land(ctx, filepath.Join(dir, "state"), append(changes, extra)); err == nil || errors.Is(err, commit.ErrHalf) {
		t.Errorf("got %v, want an error other than %v", err, commit.ErrHalf)
	}
	if got := list(t, dir); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A folder with an entry that others added meanwhile stays, with that entry.
func TestLand_keepsWhatItDoesNotKnow(t *testing.T) {
	dir := world(t)
	changes, err := set(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "files/gone/new"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := land(t, dir, changes); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(after[:1], []string{"gone/", "gone/new=theirs"}, after[1:])
	if got := list(t, dir); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A process that is killed after any step leaves a set that the next start undoes or finishes, together with its keys,
// with and without hard links.
func TestCrash_leavesSetUndoneOrFinished(t *testing.T) {
	for _, how := range []string{"", "linkless", "fails", "linkless fails", "keys", "linkless keys", "fails keys", "linkless fails keys"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var undone, finished int
			for step := 1; ; step++ {
				dir := world(t)
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), "LANDING_TEST_DIE="+strconv.Itoa(step), "LANDING_TEST_DIR="+dir, "LANDING_TEST_HOW="+how)
				out, err := c.CombinedOutput()
				if err == nil || len(out) > 0 && strings.Contains(string(out), "nil") == strings.Contains(how, "fails") {
					t.Fatalf("step %d: got %v, %s, want a crash in that step", step, err, out)
				}
				_ = os.RemoveAll(filepath.Join(dir, "files/zz")) // not part of the landing
				kept := shelf(filepath.Join(dir, "kept"))
				if err := commit.Recover(filepath.Join(dir, "state"), kept.Kept, slog.New(slog.DiscardHandler)); err != nil {
					t.Fatalf("step %d: got %v from recovery, want success", step, err)
				}
				got := slices.DeleteFunc(list(t, dir), func(name string) bool { return name == "zz/" })
				_, missing := os.Stat(string(kept))
				switch {
				case slices.Equal(got, before) && missing != nil:
					undone++
				case slices.Equal(got, after) && (missing == nil || !strings.Contains(how, "keys")):
					finished++
				default:
					t.Errorf("step %d: keys %v\ngot  %q\nwant %q\nor   %q", step, missing == nil, got, before, after)
				}
				if records, _ := filepath.Glob(filepath.Join(dir, "state", "*.json*")); len(records) > 0 {
					t.Errorf("step %d: got records %v after recovery, want none", step, records)
				}
				if len(out) > 0 { // the process was not killed
					break
				}
			}
			if undone < 2 || finished < 3 && how == "" || finished > 0 && strings.Contains(how, "fails") && strings.Contains(how, "keys") {
				t.Errorf("%q: got %d steps undone, %d finished, want 2 or more undone, 3 or more finished unless the landing fails", how, undone, finished)
			}
		})
	}
}

// A file that others changed after the crash is kept.
func TestRecover_leavesWhatChangedSince(t *testing.T) {
	dir := world(t)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "LANDING_TEST_DIE=3", "LANDING_TEST_DIR="+dir) // when it is committed
	_ = c.Run()
	if err := os.WriteFile(filepath.Join(dir, "files/b"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := commit.Recover(filepath.Join(dir, "state"), nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "files/b")); string(got) != "theirs" {
		t.Errorf("file b: got %q, want theirs", got)
	}
}

// crashAndMove lands the set of a world in a process that is killed at a step, and moves the folder of its files away, behind a
// link.
func crashAndMove(t *testing.T, step, how string) (dir, moved string) {
	t.Helper()
	dir = world(t)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "LANDING_TEST_DIE="+step, "LANDING_TEST_DIR="+dir, "LANDING_TEST_HOW="+how)
	_ = c.Run()
	moved = filepath.Join(dir, "moved")
	if err := errors.Join(os.Rename(filepath.Join(dir, "files"), moved), os.Symlink(moved, filepath.Join(dir, "files"))); err != nil {
		t.Fatal(err)
	}
	return dir, moved
}

// Temporaries in a folder that was replaced by a link stay, and are named in the log.
func TestRecover_namesWhatItCannotRemove(t *testing.T) {
	dir, moved := crashAndMove(t, "2", "") // when it is prepared
	var said bytes.Buffer
	if err := commit.Recover(filepath.Join(dir, "state"), nil, slog.New(slog.NewTextHandler(&said, nil))); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(moved, commit.Prefix+"*"))
	if len(left) == 0 || err != nil {
		t.Fatalf("got temporaries %v, %v, want some behind the link", left, err)
	}
	id := strings.Split(filepath.Base(left[0]), "-")[1]
	if want := "files=" + filepath.Join(dir, "files", commit.Prefix+id+"-*"); strings.Count(said.String(), want+"\n") != 1 {
		t.Errorf("got log %s, want %s once", said.String(), want)
	}
}

// Changes that are to be undone in a folder that was replaced by a link are undone when it is back.
func TestRecover_undoesWhenTheFolderIsBack(t *testing.T) {
	dir, moved := crashAndMove(t, "4", "keys") // when a change is applied, and no key is kept
	again := func() error {
		return commit.Recover(filepath.Join(dir, "state"), shelf(filepath.Join(dir, "kept")).Kept, slog.New(slog.DiscardHandler))
	}
	if err := again(); err == nil || !strings.Contains(err.Error(), "the folder "+filepath.Join(dir, "files")+" is not there") {
		t.Errorf("got %v, want an error about the folder", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "files")), os.Rename(moved, filepath.Join(dir, "files")), again()); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); !slices.Equal(got, before) {
		t.Errorf("got  %q\nwant %q", got, before)
	}
}

// The record of a live process is skipped.
func TestRecover_livingProcess(t *testing.T) {
	dir := world(t)
	changes, err := set(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := commit.Watch(t.Context(), func(at string) {
		if err := commit.Recover(filepath.Join(dir, "state"), nil, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("recovery %s: got %v, want success", at, err)
		}
	})
	if err := commit.Land(ctx, filepath.Join(dir, "state"), changes); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); !slices.Equal(got, after) {
		t.Errorf("got  %q\nwant %q", got, after)
	}
}

// Landings on the same files wait for each other, in any order of their changes.
func TestLand_many(t *testing.T) {
	dir := world(t)
	root, err := os.OpenRoot(filepath.Join(dir, "files"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			var changes []commit.Change
			for _, name := range []string{"a", "b"} {
				changes = append(changes, commit.Change{Folder: root, Name: name, Path: filepath.Join(root.Name(), name), Put: text(fmt.Sprint(i))})
			}
			if i%2 == 0 {
				slices.Reverse(changes)
			}
			if err := land(t, dir, changes); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	a, _ := os.ReadFile(filepath.Join(dir, "files/a"))
	b, _ := os.ReadFile(filepath.Join(dir, "files/b"))
	if len(a) != 1 || !bytes.Equal(a, b) {
		t.Errorf("got %q and %q, want both files from one landing", a, b)
	}
}

func TestLand_waitingEnds(t *testing.T) {
	dir := world(t)
	changes, err := set(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := commit.Watch(t.Context(), func(at string) {
		if at != "prepared" {
			return
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := commit.Land(short, filepath.Join(dir, "state"), changes[:1]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("landing beside another: got %v, want %v", err, context.DeadlineExceeded)
		}
	})
	if err := commit.Land(ctx, filepath.Join(dir, "state"), changes); err != nil {
		t.Fatal(err)
	}
}
