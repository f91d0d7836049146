package audit

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Files verifies exported lines without the folder that they come from: those of several hosts, in any number of files
// in any order. It needs some 20 bytes of memory for each line.
type Files struct {
	// Keys are the keys of the hosts, see ReadKey. Each chain is proven by one of them.
	Keys [][]byte
	// Heads has the last line of chains, as number/MAC, from a place of its own. It may be nil.
	Heads map[string]string
	// Marks are lines that have to be there, as chain/number/MAC: those of receipts, or of heads that were noted before. Only
	// they distinguish a log from one that was invented later with the key.
	Marks []string
}

// Verify checks the lines of files. Lines that stand twice, as after a repeated transfer, are counted once.
func (f Files) Verify(names ...string) (Report, error) {
	v := &filesVerifier{heads: f.Heads, chains: map[string]*exportedChain{}, seen: map[string]map[string]string{}}
	for _, key := range f.Keys {
		v.macs = append(v.macs, hmac.New(sha256.New, key))
	}
	for _, mark := range f.Marks {
		if _, _, err := parseMark(mark); err != nil {
			return Report{}, err
		}
	}
	for _, name := range names {
		if err := v.file(name); err != nil {
			return Report{}, err
		}
	}
	r := v.report(f.Marks)
	for i, key := range f.Keys {
		r.Signed[i].Key = fingerprint(key)
	}
	return r, nil
}

// maxProblems bounds the problems of a report. A file that is no log has one in each line.
const maxProblems = 10_000

// maxNumber bounds the number of a line, which a chain does not reach in a thousand years.
const maxNumber = 1 << 48

type filesVerifier struct {
	macs   []hash.Hash // of each key
	heads  map[string]string
	chains map[string]*exportedChain
	seen   map[string]map[string]string // chain, its recorded heads, and the chain that recorded each

	problems []Problem
	untold   int // problems over maxProblems
	repeated uint64
}

// exportedChain is a chain in pieces.
type exportedChain struct {
	name   string
	pieces []*piece
	files  [][]*piece // those of each file, in order and apart from each other
	mac    hash.Hash  // of the key that proves it; nil until one does
	ended  bool
}

// piece is a run of lines of one file, each but the first proven by the one before.
type piece struct {
	file  string
	first uint64
	head  []byte // the first line without its MAC
	macs  [][macSize]byte
}

func (p *piece) last() uint64 { return p.first + uint64(len(p.macs)) - 1 }

func (v *filesVerifier) tell(chain string, n uint64, format string, args ...any) {
	if len(v.problems) >= maxProblems {
		v.untold++
		return
	}
	v.problems = append(v.problems, Problem{chain, n, fmt.Sprintf(format, args...)})
}

// file reads the lines of a file.
func (v *filesVerifier) file(name string) error {
	row, latest := uint64(0), map[string]*piece{}
	_, err := eachLine(name, func(text []byte, whole bool) bool {
		row++
		chain, line, ok := exported(text, name)
		if !whole || !ok {
			v.tell(name, row, "it is no whole line of an audit log")
			return true
		}
		body, sum, ok := splitLine(line)
		if n := number(body); !ok || n == 0 || n > maxNumber {
			v.tell(chain, 0, "line %d of %s is no line of this log", row, name)
			return true
		}
		v.line(name, chain, body, sum, latest)
		return true
	})
	return err
}

// line adds one line. latest has the last piece of each chain in the same file.
func (v *filesVerifier) line(file, chain string, body, sum []byte, latest map[string]*piece) {
	c := v.chains[chain]
	if c == nil {
		c = &exportedChain{name: chain}
		v.chains[chain] = c
	}
	n, p := number(body), latest[chain]
	switch {
	case p != nil && n == p.last()+1:
		v.prove(c, n, p.macs[len(p.macs)-1][:], body, sum)
	case p != nil && n <= p.last() && c.known(n, sum) != nil:
		v.repeat(c, c.known(n, sum), n, body, sum)
		return
	case p != nil && n <= p.last():
		v.tell(chain, n, "it stands behind line %d: lines were moved or inserted", p.last())
		return
	default:
		if p == nil {
			c.files = append(c.files, nil)
		}
		p = &piece{file: file, first: n, head: bytes.Clone(body)}
		c.pieces, latest[chain] = append(c.pieces, p), p
		of := &c.files[len(c.files)-1] // files are read one after the other
		*of = append(*of, p)
	}
	p.macs = append(p.macs, [macSize]byte(sum))
	v.read(c, body)
}

// known returns the piece that has a line with this MAC, nil if none has.
func (c *exportedChain) known(n uint64, sum []byte) *piece {
	for p := range c.with(n) {
		if bytes.Equal(p.macs[n-p.first][:], sum) {
			return p
		}
	}
	return nil
}

// with yields the pieces with a line, of each file one or none.
func (c *exportedChain) with(n uint64) iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		for _, pieces := range c.files {
			i, _ := slices.BinarySearchFunc(pieces, n, func(p *piece, n uint64) int { return cmp.Compare(p.last(), n) })
			if i < len(pieces) && n >= pieces[i].first && !yield(pieces[i]) {
				return
			}
		}
	}
}

// repeat counts a line that stands in a piece already. Its text has to be the same, not only its MAC.
func (v *filesVerifier) repeat(c *exportedChain, p *piece, n uint64, body, sum []byte) {
	v.repeated++
	if n > p.first {
		v.prove(c, n, p.macs[n-1-p.first][:], body, sum)
	} else if !bytes.Equal(p.head, body) {
		v.tell(c.name, n, "it stands in two forms")
	}
}

// prove checks a line against the MAC of the one before, nil for the first one, with the key of the chain, or with each
// key until one fits.
func (v *filesVerifier) prove(c *exportedChain, n uint64, before, body, sum []byte) {
	fits := func(mac hash.Hash) bool {
		from := before
		if from == nil {
			from = first(mac, c.name)
		}
		return hmac.Equal(lineMAC(mac, from, body), sum)
	}
	if c.mac != nil {
		if !fits(c.mac) {
			v.tell(c.name, n, "it was changed, or the one before was")
		}
		return
	}
	if i := slices.IndexFunc(v.macs, fits); i >= 0 {
		c.mac = v.macs[i]
		return
	}
	v.tell(c.name, n, "it was changed, or none of the keys is that of its host")
}

// read takes the heads that a first line names, and notes a last line.
func (v *filesVerifier) read(c *exportedChain, body []byte) {
	if bytes.Contains(body, []byte(`,"event":"end"`)) {
		c.ended = true
		return
	}
	if !bytes.Contains(body, []byte(`"seen":{`)) {
		return
	}
	var line struct {
		Event string
		Seen  map[string]string
	}
	if json.Unmarshal(append(bytes.Clone(body), '}'), &line) != nil || line.Event != "begin" {
		return
	}
	for name, head := range line.Seen {
		if v.seen[name] == nil {
			v.seen[name] = map[string]string{}
		}
		v.seen[name][head] = c.name
	}
}

// report joins the pieces of each chain, and looks for marks.
func (v *filesVerifier) report(marks []string) Report {
	r := Report{Chains: len(v.chains), Open: map[string]uint64{}, Signed: make([]Signed, len(v.macs))}
	for _, name := range slices.Sorted(maps.Keys(v.chains)) {
		c := v.chains[name]
		last, lines := v.join(c)
		r.Lines += lines
		if i := slices.Index(v.macs, c.mac); i >= 0 {
			r.Signed[i].Chains++
			r.Signed[i].Lines += lines
		}
		if !c.ended {
			r.Open[name] = last
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.seen)) {
		for _, head := range slices.Sorted(maps.Keys(v.seen[name])) {
			v.recorded(name, head, "chain "+v.seen[name][head])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.heads)) {
		v.recorded(name, v.heads[name], "the database")
	}
	for _, mark := range marks {
		chain, _, _ := strings.Cut(mark, "/")
		v.recorded(chain, mark, "your mark")
	}
	if r.Problems, r.Repeated = v.problems, v.repeated; v.untold > 0 {
		r.Problems = append(r.Problems, Problem{What: fmt.Sprintf("%d more problems are not listed", v.untold)})
	}
	return r
}

// join checks that the pieces of a chain follow each other, and returns its last line and the number of its lines.
func (v *filesVerifier) join(c *exportedChain) (last, lines uint64) {
	slices.SortStableFunc(c.pieces, func(a, b *piece) int { return cmp.Compare(a.first, b.first) })
	whole := &piece{} // the lines so far without a gap
	for _, p := range c.pieces {
		joined := len(whole.macs) > 0 && p.first <= whole.last()+1
		switch {
		case p.first == 1:
			v.prove(c, 1, nil, p.head, p.macs[0][:])
		case joined && p.first > whole.first:
			v.prove(c, p.first, whole.macs[p.first-1-whole.first][:], p.head, p.macs[0][:])
		case joined && !bytes.Equal(p.head, whole.head):
			v.tell(c.name, p.first, "it stands in two forms, one of them in %s", p.file)
		case joined:
		case len(whole.macs) == 0:
			v.tell(c.name, p.first, "the lines before it are not in these files")
		default:
			v.tell(c.name, whole.last()+1, "lines %d to %d are missing", whole.last()+1, p.first-1)
		}
		if !joined {
			lines += uint64(len(whole.macs))
			whole = &piece{first: p.first, head: p.head}
		}
		v.overlap(c, whole, p)
	}
	return whole.last(), lines + uint64(len(whole.macs))
}

// overlap adds the lines of a piece behind those that are known, which have to be equal.
func (v *filesVerifier) overlap(c *exportedChain, whole, p *piece) {
	for i, mac := range p.macs {
		n := p.first + uint64(i)
		switch {
		case len(whole.macs) == 0 || n > whole.last():
			whole.macs = append(whole.macs, mac)
		case whole.macs[n-whole.first] != mac:
			v.tell(c.name, n, "it stands in two forms, one of them in %s", p.file)
		default:
			v.repeated++
		}
	}
}

// recorded checks the head of a chain that was recorded elsewhere.
func (v *filesVerifier) recorded(name, head, by string) {
	n, c := numberOf(head), v.chains[name]
	if c == nil {
		v.tell(name, 0, "the chain is not in these files; it had %d lines or more, as %s tells", n, by)
		return
	}
	for p := range c.with(n) {
		if macOf(head) != hex.EncodeToString(p.macs[n-p.first][:]) {
			v.tell(name, n, "%s has another MAC for it", by)
		}
		return
	}
	v.tell(name, 0, "it had %d lines, as %s tells, and they are not all in these files", n, by)
}
