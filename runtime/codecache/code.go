package codecache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// codes is the folder of machine code.
	codes = "code"
	// codeFormat begins each file of it.
	codeFormat = "sallyport code 1\n"
	// keySize is the length of an engine's name for an entry: a hash in hexadecimal digits.
	keySize = 2 * sha256.Size

	// minWindow is a size that the window of any compressed entry may have, in bytes.
	minWindow = 1 << 20

	codePrefix = len(codeFormat) + sha256.Size + 8 + keySize
)

// PutCode stores the machine code of the module with this mark, compressed: raw is an entry as the engine wrote it, and
// key the name under which the engine looks for it.
//
//	codeFormat · seal · size of the entry, 8 bytes · key · the entry, compressed
func (f Folder) PutCode(mark, key string, raw []byte) error {
	if _, err := hex.DecodeString(key); err != nil || len(key) != keySize || len(raw) > maxModule {
		return errors.New("the machine code is no entry of the engine")
	}
	compressed, err := compress(raw)
	if err != nil {
		return err
	}
	head := codeHead(mark, key, uint64(len(raw)), compressed)
	return replace(f.codeFile(mark), func(w io.Writer) error {
		_, err := w.Write(head)
		if err == nil {
			_, err = w.Write(compressed)
		}
		return err
	})
}

// HasCode reports whether there is machine code for this mark. PlaceCode may still refuse it.
func (f Folder) HasCode(mark string) bool {
	file, err := openOwn(f.codeFile(mark))
	if err != nil {
		return false
	}
	return file.Close() == nil
}

// ErrUnwritten is the error for code that is stored, and that could not be written for the engine: the disk is full,
// perhaps.
var ErrUnwritten = errors.New("the machine code cannot be written for the engine")

// PlaceCode writes the machine code with this mark into a folder from which the engine reads, under its key. It never
// writes other bytes than PutCode got: the file is owner-only, and sealed with a hash. It returns the path and the size
// in bytes.
func (f Folder) PlaceCode(mark, dir string) (path string, size uint64, err error) {
	file, err := openOwn(f.codeFile(mark))
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", 0, err
	}
	if info.Size() < int64(codePrefix) || info.Size() > maxModule {
		return "", 0, ErrChanged
	}
	all := make([]byte, info.Size())
	if _, err := io.ReadFull(file, all); err != nil {
		return "", 0, err
	}
	sizes, rest := all[len(codeFormat)+sha256.Size:codePrefix-keySize], all[codePrefix:]
	size = binary.LittleEndian.Uint64(sizes)
	key := string(all[codePrefix-keySize : codePrefix])
	if size > maxModule || string(codeHead(mark, key, size, rest)) != string(all[:codePrefix]) {
		return "", 0, ErrChanged
	}
	path = filepath.Join(dir, key)
	return path, size, place(path, rest, size)
}

// codeHead returns the first bytes of a file of machine code.
func codeHead(mark, key string, size uint64, compressed []byte) []byte {
	sizes := binary.LittleEndian.AppendUint64(nil, size)
	h := sha256.New()
	fmt.Fprintf(h, "%s%q%s%s", codeFormat, mark, sizes, key)
	h.Write(compressed)
	out := append(make([]byte, 0, codePrefix), codeFormat...)
	out = h.Sum(out)
	return append(append(out, sizes...), key...)
}

func (f Folder) codeFile(mark string) string { return filepath.Join(string(f), codes, mark) }

// compress compresses machine code to a sixth.
func compress(raw []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return w.EncodeAll(raw, nil), w.Close()
}

// buffers pools the decompressed code on its way into a file, which is large.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// place decompresses into a new file.
func place(path string, compressed []byte, size uint64) error {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(max(size, minWindow)), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	defer r.Close()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	if uint64(cap(*buf)) < size {
		*buf = make([]byte, size)
	}
	raw, err := r.DecodeAll(compressed, (*buf)[:0:size])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	err = replace(path, func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	return err
}

// loads begins the names of the folders that Scratch creates.
const loads = "load-"

// Scratch creates a folder for the entries that the engine of one process reads. The caller removes it.
func (f Folder) Scratch() (string, error) {
	return os.MkdirTemp(string(f), loads+"*")
}
