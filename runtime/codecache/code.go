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
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

const (
	// codes is the folder of machine code.
	codes = "code"
	// codeFormat begins each file of it.
	codeFormat = "sallyport code 2\n"
	// keySize is the length of an engine's name for an entry: a hash in hexadecimal digits.
	keySize = 2 * sha256.Size

	// piece is the part of an entry that is compressed by itself, in bytes: the processors decompress one each at a time,
	// in their own caches.
	piece = 1 << 20

	codePrefix = len(codeFormat) + sha256.Size + 8 + keySize
)

// PutCode stores the machine code of the module with this mark, compressed: raw is an entry as the engine wrote it, and
// key the name under which the engine looks for it.
//
//	codeFormat · seal · size of the entry, 8 bytes · key · for each piece of the entry: its size, 4 bytes, compressed
func (f Folder) PutCode(mark, key string, raw []byte) error {
	if _, err := hex.DecodeString(key); err != nil || len(key) != keySize || len(raw) > maxModule {
		return errors.New("the machine code is no entry of the engine")
	}
	compressed, err := compress(raw)
	if err != nil {
		return err
	}
	head := codeHead(mark, key, uint64(len(raw)), compressed)
	return replace(f.codeFile(mark), func(w *os.File) error {
		_, err := w.Write(head)
		if err == nil {
			_, err = w.Write(compressed)
		}
		return err
	})
}

// HasCode reports whether there is machine code for this mark, in the format of today. PlaceCode may still refuse it.
func (f Folder) HasCode(mark string) bool {
	file, err := openOwn(f.codeFile(mark))
	if err != nil {
		return false
	}
	defer file.Close()
	var head [len(codeFormat)]byte
	_, err = io.ReadFull(file, head[:])
	return err == nil && string(head[:]) == codeFormat
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

// compress compresses the pieces of machine code, to a sixth.
func compress(raw []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	var out []byte
	for part := range slices.Chunk(raw, piece) {
		at := len(out)
		out = w.EncodeAll(part, append(out, 0, 0, 0, 0))
		binary.LittleEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	}
	return out, w.Close()
}

// pieces returns the compressed pieces of an entry of size bytes.
func pieces(compressed []byte, size uint64) (all [][]byte, err error) {
	for range (size + piece - 1) / piece {
		if len(compressed) < 4 || uint64(binary.LittleEndian.Uint32(compressed)) > uint64(len(compressed)-4) {
			return nil, ErrChanged
		}
		end := 4 + binary.LittleEndian.Uint32(compressed)
		all, compressed = append(all, compressed[4:end]), compressed[end:]
	}
	if len(compressed) > 0 {
		return nil, ErrChanged
	}
	return all, nil
}

// place decompresses into a new file, on all processors.
func place(path string, compressed []byte, size uint64) error {
	all, err := pieces(compressed, size)
	if err != nil {
		return err
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), len(all)))
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(workers), zstd.WithDecoderMaxMemory(piece), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	defer r.Close()
	err = replace(path, func(f *os.File) error {
		errs := make([]error, workers)
		var next atomic.Int64
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				buf := make([]byte, min(size, piece))
				for i := next.Add(1) - 1; i < int64(len(all)) && errs[w] == nil; i = next.Add(1) - 1 {
					errs[w] = placePiece(r, f, all[i], i*piece, buf[:min(size-uint64(i)*piece, piece)])
				}
			})
		}
		group.Wait()
		return errors.Join(errs...)
	})
	if err != nil && !errors.Is(err, ErrChanged) {
		err = fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	return err
}

// placePiece decompresses one piece into buf, whose length it has to have, and writes it to its place in a file.
func placePiece(r *zstd.Decoder, f *os.File, compressed []byte, at int64, buf []byte) error {
	raw, err := r.DecodeAll(compressed, buf[:0:len(buf)])
	if err != nil || len(raw) != len(buf) {
		return errors.Join(ErrChanged, err)
	}
	_, err = f.WriteAt(raw, at)
	return err
}

// loads begins the names of the folders that Scratch creates.
const loads = "load-"

// Scratch creates a folder for the entries that the engine of one process reads. The caller removes it.
func (f Folder) Scratch() (string, error) {
	return os.MkdirTemp(string(f), loads+"*")
}
