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
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/s2"
)

const (
	// codes is the folder of machine code.
	codes = "code"
	// codeFormat begins each file of it.
	codeFormat = "sallyport code 3\n"
	// KeySize is the length of the engine's name for an entry, a hash, in bytes. A file has it in hexadecimal digits.
	KeySize = sha256.Size

	// piece is the part of an entry that is compressed by itself, in bytes: the processors decompress one each at a time,
	// in their own caches.
	piece = 1 << 20

	codePrefix = len(codeFormat) + sha256.Size + 8 + 2*KeySize
)

// PutCode stores the machine code of the module with this mark, compressed: entry is what the engine keeps of it, and key
// the name under which the engine looks for it.
//
//	codeFormat · seal · size of the entry, 8 bytes · key · for each piece of the entry: its size, 4 bytes, compressed
func (f Folder) PutCode(mark string, key [KeySize]byte, entry io.Reader) error {
	compressed, size, err := compress(entry)
	if err != nil {
		return err
	}
	head := codeHead(mark, key, size, compressed)
	return replace(f.codeFile(mark), func(w *os.File) error {
		_, err := w.Write(head)
		if err == nil {
			_, err = w.Write(compressed)
		}
		return err
	})
}

var errTooLarge = errors.New("the machine code is too large to be kept")

// HasCode reports whether there is machine code for this mark, in the format of today. Code may still refuse it.
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

// Code is the machine code of a module: an entry of the engine, compressed.
type Code struct {
	Key    [KeySize]byte // the name under which the engine looks for it
	Size   uint64        // of the entry, in bytes
	pieces [][]byte
}

// Code returns the machine code with this mark. It never returns other bytes than PutCode got: the file is owner-only, and
// sealed with a hash.
func (f Folder) Code(mark string) (*Code, error) {
	file, err := openOwn(f.codeFile(mark))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < int64(codePrefix) || info.Size() > maxModule {
		return nil, ErrChanged
	}
	all := make([]byte, info.Size())
	if _, err := io.ReadFull(file, all); err != nil {
		return nil, err
	}
	sizes, key, compressed := all[len(codeFormat)+sha256.Size:], all[codePrefix-2*KeySize:codePrefix], all[codePrefix:]
	c := &Code{Size: binary.LittleEndian.Uint64(sizes)}
	if _, err := hex.Decode(c.Key[:], key); err != nil {
		return nil, ErrChanged
	}
	if c.Size > maxModule || string(codeHead(mark, c.Key, c.Size, compressed)) != string(all[:codePrefix]) {
		return nil, ErrChanged
	}
	c.pieces, err = pieces(compressed, c.Size)
	return c, err
}

// codeHead returns the first bytes of a file of machine code.
func codeHead(mark string, key [KeySize]byte, size uint64, compressed []byte) []byte {
	sizes, digits := binary.LittleEndian.AppendUint64(nil, size), hex.EncodeToString(key[:])
	h := sha256.New()
	fmt.Fprintf(h, "%s%q%s%s", codeFormat, mark, sizes, digits)
	h.Write(compressed)
	out := append(make([]byte, 0, codePrefix), codeFormat...)
	out = h.Sum(out)
	return append(append(out, sizes...), digits...)
}

func (f Folder) codeFile(mark string) string { return filepath.Join(string(f), codes, mark) }

// compress compresses an entry in pieces, to a quarter of its size, which it returns too.
func compress(entry io.Reader) (compressed []byte, size uint64, err error) {
	for buf, block := make([]byte, piece), []byte(nil); ; {
		n, err := io.ReadFull(entry, buf)
		if n > 0 {
			block = s2.Encode(block, buf[:n])
			compressed = binary.LittleEndian.AppendUint32(compressed, uint32(len(block)))
			compressed = append(compressed, block...)
		}
		switch size += uint64(n); {
		case size > maxModule:
			return nil, 0, errTooLarge
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return compressed, size, nil
		case err != nil:
			return nil, 0, err
		}
	}
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

// Open returns a reader of the entry, for one goroutine.
func (c *Code) Open() io.Reader { return &reader{code: c} }

// reader decompresses an entry into the memory of its caller, on all processors.
type reader struct {
	code *Code
	next uint64 // the offset of the next byte
	held uint64 // the offset of part
	part []byte // the piece in which the last read ended, if not all of it was read
}

// Read fills p, unless the entry ends before.
func (r *reader) Read(p []byte) (int, error) {
	from := r.next
	to := min(from+uint64(len(p)), r.code.Size)
	switch {
	case from == to && len(p) > 0:
		return 0, io.EOF
	case from >= r.held && to <= r.held+uint64(len(r.part)): // the engine reads numbers one by one
		copy(p, r.part[from-r.held:])
	default:
		if err := r.fill(p[:to-from], from); err != nil {
			return 0, err
		}
	}
	r.next = to
	return int(to - from), nil
}

// fill decompresses the pieces with the bytes from an offset on.
func (r *reader) fill(p []byte, from uint64) error {
	if len(p) > piece {
		hugePages(p)
	}
	begin, end := from/piece, (from+uint64(len(p))+piece-1)/piece
	before, held := r.part, r.held
	var next atomic.Uint64
	next.Store(begin)
	workers := min(uint64(runtime.GOMAXPROCS(0)), end-begin)
	errs := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < end && errs[w] == nil; i = next.Add(1) - 1 {
				if i*piece == held && len(before) > 0 {
					copy(p, before[from-held:])
					continue
				}
				errs[w] = r.place(i, p, from)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// place decompresses one piece to its place in p, which holds the bytes from an offset on.
func (r *reader) place(i uint64, p []byte, from uint64) error {
	begin, end := i*piece, min((i+1)*piece, r.code.Size)
	to := from + uint64(len(p))
	if from <= begin && end <= to {
		return decompress(r.code.pieces[i], p[begin-from:end-from])
	}
	part := make([]byte, end-begin)
	if err := decompress(r.code.pieces[i], part); err != nil {
		return err
	}
	copy(p[max(begin, from)-from:], part[max(begin, from)-begin:])
	if end > to { // so no other piece is behind it
		r.part, r.held = part, begin
	}
	return nil
}

// decompress decompresses a piece, which has to have the length of p.
func decompress(compressed, p []byte) error {
	if n, err := s2.DecodedLen(compressed); err != nil || n != len(p) {
		return errors.Join(ErrChanged, err)
	}
	if _, err := s2.Decode(p, compressed); err != nil {
		return errors.Join(ErrChanged, err)
	}
	return nil
}
