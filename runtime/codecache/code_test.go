package codecache

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// engineKey is a name that an engine could have for an entry.
var engineKey = strings.Repeat("0123456789abcdef", 4)

// putCode returns a folder with the code of one mark, "machine code", and the path of its file.
func putCode(t *testing.T) (f Folder, path string) {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.PutCode("abc", engineKey, []byte("machine code")); err != nil {
		t.Fatal(err)
	}
	return f, f.codeFile("abc")
}

func TestFolder_placesTheCodeThatItStored(t *testing.T) {
	f, stored := putCode(t)
	dir := t.TempDir()
	path, size, err := f.PlaceCode("abc", dir)
	if err != nil || path != filepath.Join(dir, engineKey) || size != uint64(len("machine code")) {
		t.Fatalf("got %s, %d, %v; want the key in %s, 12, no error", path, size, err, dir)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "machine code" {
		t.Errorf("got %q, %v; want machine code, no error", got, err)
	}
	for _, p := range []string{path, stored} {
		if info, err := os.Stat(p); err != nil || hasFileModes && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v, %v; want 0600, no error", p, info.Mode(), err)
		}
	}
	if !f.HasCode("abc") || f.HasCode("abd") {
		t.Errorf("HasCode: got %v, %v; want true, false", f.HasCode("abc"), f.HasCode("abd"))
	}
	if _, _, err := f.PlaceCode("abd", dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("code that was never stored: got %v, want %v", err, fs.ErrNotExist)
	}
	if err := f.RemoveCode("abc"); err != nil || f.HasCode("abc") {
		t.Errorf("RemoveCode: got %v, and the code is there: %v; want no error, false", err, f.HasCode("abc"))
	}
	if err := f.RemoveCode("abc"); err != nil {
		t.Errorf("RemoveCode again: got %v, want no error", err)
	}
}

func TestFolder_compressesCode(t *testing.T) {
	f, path := putCode(t)
	raw := bytes.Repeat([]byte("mov rax, rbx"), 100_000)
	if err := f.PutCode("abc", engineKey, raw); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > int64(len(raw)/10) {
		t.Errorf("got a file of %d bytes for %d, %v; want a tenth at most", info.Size(), len(raw), err)
	}
	placed, _, err := f.PlaceCode("abc", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(placed); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("got %d bytes, %v; want those that were stored", len(got), err)
	}
}

func TestFolder_placesNoChangedCode(t *testing.T) {
	f, path := putCode(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	try := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.PlaceCode("abc", dir); err == nil {
			t.Errorf("%s: got no error", what)
		}
	}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		try("a flipped bit", flipped)
		try("a truncated file", whole[:i])
	}
	try("a longer file", append(bytes.Clone(whole), 0))
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("got %d files, want none", len(left))
	}
}

func TestFolder_placesNoCodeOfAnotherMark(t *testing.T) {
	f, path := putCode(t)
	if err := os.Rename(path, f.codeFile("abd")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.PlaceCode("abd", t.TempDir()); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want %v", err, ErrChanged)
	}
}

func TestFolder_storesNoCodeWithoutAKey(t *testing.T) {
	f, _ := putCode(t)
	for _, key := range []string{"", "../" + engineKey[3:], engineKey[1:]} {
		if err := f.PutCode("abc", key, nil); err == nil {
			t.Errorf("key %q: got no error", key)
		}
	}
	if _, _, err := f.PlaceCode("abc", t.TempDir()); err != nil {
		t.Errorf("the code before: got %v, want no error", err)
	}
}

// Pieces are decompressed by themselves, and stay in order.
func TestFolder_placesCodeOfManyPieces(t *testing.T) {
	f, path := putCode(t)
	for _, size := range []int{0, 1, piece - 1, piece, piece + 1, 5*piece + 7} {
		raw := make([]byte, size)
		for i := range raw {
			raw[i] = byte(i>>20) ^ byte(i*i>>7)
		}
		if err := f.PutCode("abc", engineKey, raw); err != nil {
			t.Fatal(err)
		}
		placed, n, err := f.PlaceCode("abc", t.TempDir())
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, err := os.ReadFile(placed); err != nil || !bytes.Equal(got, raw) || n != uint64(size) {
			t.Errorf("got %d bytes, of %d, %v; want the %d that were stored", len(got), n, err, size)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Error(info, err)
	}
}

// A seal that fits cannot make a file of pieces that do not.
func TestPlace_refusesPiecesThatDoNotFit(t *testing.T) {
	whole, err := compress(bytes.Repeat([]byte("code"), piece/2)) // two pieces
	if err != nil {
		t.Fatal(err)
	}
	one, err := compress([]byte("code"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		compressed []byte
		size       uint64
	}{
		"a piece too much":   {append(bytes.Clone(whole), one...), 2 * piece},
		"a piece too few":    {whole, 3 * piece},
		"a short last piece": {whole, 2*piece - 1},
		"a long piece":       {one, 3},
		"a short piece":      {one, 5},
		"no size":            {one[:3], 4},
		"a size beyond":      {[]byte{255, 255, 255, 255, 0}, 4},
		"bytes of none":      {one, 0},
	} {
		path := filepath.Join(dir, "placed")
		if err := place(path, c.compressed, c.size); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: got %v, want %v", name, err, ErrChanged)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("got %d files, want none", len(left))
	}
}

func TestFolder_hasNoCodeOfAFormerFormat(t *testing.T) {
	f, path := putCode(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	former := append([]byte("sallyport code 1\n"), whole[len(codeFormat):]...)
	if err := os.WriteFile(path, former, 0o600); err != nil {
		t.Fatal(err)
	}
	if f.HasCode("abc") {
		t.Error("HasCode: got true for a former format, want false")
	}
}
