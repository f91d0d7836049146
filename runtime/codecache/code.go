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

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
)

const (
	// codes is the folder of machine code.
	codes = "code"
	// codeFormat begins each file of it.
	codeFormat = "sallyport code 4\n"
	// KeySize is the length of the engine's name for an entry, a hash, in bytes. A file has it in hexadecimal digits.
	KeySize = sha256.Size

	// piece is the part of an entry that is stored by itself, in bytes: the processors read one each at a time, in their
	// own caches.
	piece = 1 << 20

	codeHead  = len(codeFormat) + sha256.Size + 8 + 2*KeySize
	pieceHead = 4 + 8
)

// PutCode stores the machine code of the module with this mark: entry is what the engine keeps of it, and key the name
// under which the engine looks for it. It is compressed, to a quarter of its size; see KeepPlain.
//
//	codeFormat · seal of the rest of the head · size of the entry, 8 bytes · key
//	for each piece of the entry: its size in the file, 4 bytes · its sum, 8 bytes
//	the pieces, each compressed unless that makes it no smaller
func (f Folder) PutCode(mark string, key [KeySize]byte, entry io.Reader) error {
	s, err := split(entry, false)
	if err != nil {
		return err
	}
	return f.replaceCode(mark, key, s)
}

// parts are an entry as it is stored.
type parts struct {
	size   uint64 // of the entry, in bytes
	table  []byte
	pieces [][]byte
}

func (f Folder) replaceCode(mark string, key [KeySize]byte, s parts) error {
	all := append([][]byte{headOfCode(mark, key, s.size, s.table), s.table}, s.pieces...)
	return replace(f.codeFile(mark), func(w *os.File) error {
		for _, part := range all {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
}

var errTooLarge = errors.New("the machine code is too large to be kept")

// split returns an entry as it is stored, plain or compressed.
func split(entry io.Reader, plain bool) (s parts, err error) {
	for {
		raw := make([]byte, piece)
		n, err := io.ReadFull(entry, raw)
		if n > 0 {
			stored := raw[:n]
			if !plain {
				if block := s2.Encode(nil, stored); len(block) < n {
					stored = block
				}
			}
			s.pieces = append(s.pieces, stored)
			s.table = binary.LittleEndian.AppendUint32(s.table, uint32(len(stored)))
			s.table = binary.LittleEndian.AppendUint64(s.table, xxhash.Sum64(stored))
		}
		switch s.size += uint64(n); {
		case s.size > maxModule:
			return parts{}, errTooLarge
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return s, nil
		case err != nil:
			return parts{}, err
		}
	}
}

// headOfCode returns the first bytes of a file of machine code, which the table of its pieces follows.
func headOfCode(mark string, key [KeySize]byte, size uint64, table []byte) []byte {
	sizes, digits := binary.LittleEndian.AppendUint64(nil, size), hex.EncodeToString(key[:])
	h := sha256.New()
	fmt.Fprintf(h, "%s%q%s%s", codeFormat, mark, sizes, digits)
	h.Write(table)
	out := append(make([]byte, 0, codeHead), codeFormat...)
	out = h.Sum(out)
	return append(append(out, sizes...), digits...)
}

func (f Folder) codeFile(mark string) string { return filepath.Join(string(f), codes, mark) }

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

// Code is the machine code of a module: an entry of the engine, in an open file.
type Code struct {
	Key    [KeySize]byte // the name under which the engine looks for it
	Size   uint64        // of the entry, in bytes
	file   *os.File
	pieces []stored
}

// stored is a piece in a file.
type stored struct {
	at   int64
	size uint32
	sum  uint64 // XXH64 of the stored bytes
}

// Code opens the machine code with this mark. Its readers never return other bytes than PutCode got, unless someone forged
// them: the file is owner-only, and a damaged piece does not have its sum. Close it.
func (f Folder) Code(mark string) (*Code, error) {
	file, err := openUsed(f.codeFile(mark))
	if err != nil {
		return nil, err
	}
	c, err := readCode(file, mark)
	if err != nil {
		file.Close()
	}
	return c, err
}

// Close closes the file. No reader may be in use.
func (c *Code) Close() error { return c.file.Close() }

// readCode reads the head of a file of code.
func readCode(file *os.File, mark string) (*Code, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	c := &Code{file: file}
	var head [codeHead]byte
	if _, err := io.ReadFull(file, head[:]); err != nil {
		return nil, errors.Join(ErrChanged, err)
	}
	c.Size = binary.LittleEndian.Uint64(head[len(codeFormat)+sha256.Size:])
	if _, err := hex.Decode(c.Key[:], head[codeHead-2*KeySize:]); err != nil || c.Size > maxModule {
		return nil, ErrChanged
	}
	table := make([]byte, (c.Size+piece-1)/piece*pieceHead)
	if _, err := io.ReadFull(file, table); err != nil {
		return nil, errors.Join(ErrChanged, err)
	}
	if string(headOfCode(mark, c.Key, c.Size, table)) != string(head[:]) {
		return nil, ErrChanged
	}
	at := int64(codeHead + len(table))
	for ; len(table) > 0; table = table[pieceHead:] {
		p := stored{at, binary.LittleEndian.Uint32(table), binary.LittleEndian.Uint64(table[4:])}
		c.pieces = append(c.pieces, p)
		at += int64(p.size)
	}
	if at != info.Size() {
		return nil, ErrChanged
	}
	return c, nil
}

// plain reports whether no piece is compressed.
func (c *Code) plain() bool {
	size := uint64(0)
	for _, p := range c.pieces {
		size += uint64(p.size)
	}
	return size == c.Size
}

// Open returns a reader of the entry, for one goroutine.
func (c *Code) Open() io.Reader { return &reader{code: c} }

// reader reads an entry into the memory of its caller, on all processors.
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

// fill reads the pieces with the bytes from an offset on.
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

// place reads one piece to its place in p, which holds the bytes from an offset on.
func (r *reader) place(i uint64, p []byte, from uint64) error {
	begin, end := i*piece, min((i+1)*piece, r.code.Size)
	to := from + uint64(len(p))
	if from <= begin && end <= to {
		return r.code.read(i, p[begin-from:end-from])
	}
	part := make([]byte, end-begin)
	if err := r.code.read(i, part); err != nil {
		return err
	}
	copy(p[max(begin, from)-from:], part[max(begin, from)-begin:])
	if end > to { // so no other piece is behind it
		r.part, r.held = part, begin
	}
	return nil
}

// read reads a piece, which has to have the length of p.
func (c *Code) read(i uint64, p []byte) error {
	from, bytes := c.pieces[i], p
	if int(from.size) != len(p) {
		bytes = make([]byte, from.size)
	}
	if _, err := c.file.ReadAt(bytes, from.at); errors.Is(err, io.EOF) {
		return ErrChanged // alone: io.EOF is the end of the entry
	} else if err != nil {
		return errors.Join(ErrChanged, err)
	}
	if xxhash.Sum64(bytes) != from.sum {
		return ErrChanged
	}
	if int(from.size) == len(p) {
		return nil
	}
	if n, err := s2.DecodedLen(bytes); err != nil || n != len(p) {
		return errors.Join(ErrChanged, err)
	}
	if _, err := s2.Decode(p, bytes); err != nil {
		return errors.Join(ErrChanged, err)
	}
	return nil
}
