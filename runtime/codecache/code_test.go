package codecache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
)

// engineKey returns a name that an engine could have for an entry.
func engineKey() (key [KeySize]byte) {
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

// codeOf returns the entry of a mark.
func codeOf(f Folder, mark string) ([]byte, error) {
	c, err := f.Code(mark)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(c.Open())
}

// putCode returns a folder with the code of one mark, "machine code", and the path of its file.
func putCode(t *testing.T) (f Folder, path string) {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.PutCode("abc", engineKey(), strings.NewReader("machine code")); err != nil {
		t.Fatal(err)
	}
	return f, f.codeFile("abc")
}

func TestFolder_returnsTheCodeThatItStored(t *testing.T) {
	f, stored := putCode(t)
	c, err := f.Code("abc")
	if err != nil || c.Key != engineKey() || c.Size != uint64(len("machine code")) {
		t.Fatalf("got %v, %v; want the key and 12 bytes, no error", c, err)
	}
	defer c.Close()
	if got, err := codeOf(f, "abc"); err != nil || string(got) != "machine code" {
		t.Errorf("got %q, %v; want machine code, no error", got, err)
	}
	if info, err := os.Stat(stored); err != nil || hasFileModes && info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600, no error", info.Mode(), err)
	}
	if !f.HasCode("abc") || f.HasCode("abd") {
		t.Errorf("HasCode: got %v, %v; want true, false", f.HasCode("abc"), f.HasCode("abd"))
	}
	if _, err := f.Code("abd"); !errors.Is(err, fs.ErrNotExist) {
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
	if err := f.PutCode("abc", engineKey(), bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > int64(len(raw)/10) {
		t.Errorf("got a file of %d bytes for %d, %v; want a tenth at most", info.Size(), len(raw), err)
	}
	if got, err := codeOf(f, "abc"); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("got %d bytes, %v; want those that were stored", len(got), err)
	}
}

func TestFolder_returnsNoChangedCode(t *testing.T) {
	f, path := putCode(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := codeOf(f, "abc"); err == nil {
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
}

func TestFolder_returnsNoCodeOfAnotherMark(t *testing.T) {
	f, path := putCode(t)
	if err := os.Rename(path, f.codeFile("abd")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Code("abd"); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want %v", err, ErrChanged)
	}
}

// Pieces are decompressed by themselves, to their places in the memory of the reader.
func TestCode_readsManyPieces(t *testing.T) {
	f, _ := putCode(t)
	for _, size := range []int{0, 1, piece - 1, piece, piece + 1, 5*piece + 7} {
		raw := make([]byte, size)
		for i := range raw {
			raw[i] = byte(i>>20) ^ byte(i*i>>7)
		}
		if err := f.PutCode("abc", engineKey(), bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		c, err := f.Code("abc")
		if err != nil || c.Size != uint64(size) {
			t.Fatalf("%d bytes: got %v, %v", size, c, err)
		}
		defer c.Close()
		for _, reads := range [][]int{{size}, {8, 8, size}, {100, piece, 8}, {piece, 1}, {piece + 8, 8, 3*piece - 8, 8}, {0, 2*piece - 1, 1}} {
			if err := readAs(c, raw, reads); err != nil {
				t.Errorf("%d bytes, reads of %v: %v", size, reads, err)
			}
		}
	}
}

// readAs reads code by reads of these lengths, over and over, and compares it.
func readAs(c *Code, want []byte, reads []int) error {
	r := c.Open()
	var got []byte
	for i := 0; ; i++ {
		p := make([]byte, max(reads[i%len(reads)], min(i, 1)))
		n, err := r.Read(p)
		got = append(got, p[:n]...)
		switch {
		case errors.Is(err, io.EOF) && bytes.Equal(got, want):
			return nil
		case err != nil:
			return fmt.Errorf("got %d of %d bytes, %w", len(got), len(want), err)
		case n < len(p) && len(got) < len(want):
			return fmt.Errorf("got %d bytes, want %d", n, len(p))
		}
	}
}

// storedAs returns a table and pieces that make a file for these texts.
func storedAs(texts ...string) (table []byte, pieces []byte) {
	for _, text := range texts {
		table = binary.LittleEndian.AppendUint32(table, uint32(len(text)))
		table = binary.LittleEndian.AppendUint64(table, xxhash.Sum64String(text))
		pieces = append(pieces, text...)
	}
	return table, pieces
}

// A seal and sums that fit cannot make an entry of pieces that do not.
func TestCode_refusesPiecesThatDoNotFit(t *testing.T) {
	raw := strings.Repeat("code", piece/4)
	block, short := string(s2.Encode(nil, []byte(raw))), string(s2.Encode(nil, []byte("code code code code")))
	f, path := putCode(t)
	for name, c := range map[string]struct {
		size   uint64
		texts  []string
		behind string
	}{
		"a piece too much":         {2 * piece, []string{block, block, "code"}, ""},
		"a piece too few":          {3 * piece, []string{block, block}, ""},
		"a short last piece":       {2*piece - 1, []string{block, block}, ""},
		"a long last piece":        {2*piece + 1, []string{block, block}, ""},
		"a long piece":             {3, []string{"code"}, ""},
		"a short piece":            {5, []string{"code"}, ""},
		"a long compressed piece":  {18, []string{short}, ""},
		"a short compressed piece": {20, []string{short}, ""},
		"a damaged block":          {30, []string{short[:len(short)-1]}, ""},
		"an empty piece":           {4, []string{""}, ""},
		"no piece":                 {4, nil, ""},
		"bytes of none":            {0, nil, "code"},
	} {
		table, pieces := storedAs(c.texts...)
		file := append(headOfCode("abc", engineKey(), c.size, table), append(append(table, pieces...), c.behind...)...)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := codeOf(f, "abc"); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: got %v, want %v", name, err, ErrChanged)
		}
	}
}

func TestFolder_hasNoCodeOfAFormerFormat(t *testing.T) {
	f, path := putCode(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	former := append([]byte("sallyport code 2\n"), whole[len(codeFormat):]...)
	if err := os.WriteFile(path, former, 0o600); err != nil {
		t.Fatal(err)
	}
	if f.HasCode("abc") {
		t.Error("HasCode: got true for a former format, want false")
	}
}
