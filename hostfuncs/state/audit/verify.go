package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Problem is one deviation from the log as it was written.
type Problem struct {
	Chain string // "" for none
	N     uint64 // number of the line, 0 for none
	What  string // one sentence, lower case, no full stop
}

// String returns the place of the problem and its description.
func (p Problem) String() string {
	switch {
	case p.Chain == "" && p.N == 0:
		return p.What
	case p.N == 0:
		return p.Chain + ": " + p.What
	}
	return fmt.Sprintf("%s line %d: %s", p.Chain, p.N, p.What)
}

// Report is the result of Verify.
type Report struct {
	Chains   int
	Lines    uint64
	Repeated uint64 // copies of lines that Files.Verify has met before
	Problems []Problem
	// Signed has the part of each key: that of the folder, or Files.Keys in their order.
	Signed []Signed
	// Open has the last line number of each chain without a closing line: its process is running, or was killed.
	Open map[string]uint64
}

// Signed is the part of a log that one key proves: a holder of the key wrote it.
type Signed struct {
	Key    string // fingerprint
	Chains int
	Lines  uint64
}

// Verify checks every chain of a folder, also against heads of its host that were recorded elsewhere before. A missing
// folder has no chains. Lines that retention removed are neither missing nor counted.
func Verify(dir string, recorded ...Head) (Report, error) {
	r, err := verify(dir, recorded)
	for range 3 { // retention of a running host may remove a listed file
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		r, err = verify(dir, recorded)
	}
	return r, err
}

func verify(dir string, recorded []Head) (Report, error) {
	r := Report{Open: map[string]uint64{}}
	v, err := newVerifier(dir)
	if errors.Is(err, fs.ErrNotExist) {
		left, _ := chains(dir) // empty if the folder is missing
		for _, name := range slices.Sorted(maps.Keys(left)) {
			r.Chains++
			r.Problems = append(r.Problems, Problem{name, 0, "the key of the folder is gone: nothing can be proven"})
		}
		(&verifier{chains: left}).lost(recorded, &r)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if v.cutsChanged {
		r.Problems = append(r.Problems, Problem{cutFile, 0, "the record of the lines that retention removed was changed"})
	}
	v.recorded = map[string]string{}
	for _, h := range recorded {
		v.recorded[h.Chain] = h.Last
	}
	for _, chain := range slices.Sorted(maps.Keys(v.chains)) {
		if err := v.chain(chain, &r); err != nil {
			return r, err
		}
		r.Chains++
	}
	v.gone(&r)
	v.lost(recorded, &r)
	r.Signed = []Signed{{v.key, r.Chains, r.Lines}}
	return r, nil
}

// ErrNotProven is returned if the log has no such line, or a different one with its number.
var ErrNotProven = errors.New("the receipt is not proven")

// Proves returns the line that a receipt's mark identifies. The error is ErrNotProven if there is none.
func Proves(dir, mark string) (json.RawMessage, error) {
	chain, n, err := parseMark(mark)
	if err != nil {
		return nil, err
	}
	var found json.RawMessage
	err = Read(dir, func(l Line) bool {
		if l.Chain == chain && l.N == n {
			found = bytes.Clone(l.Text)
		}
		return found == nil
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, fmt.Errorf("%w: chain %s has no line %d", ErrNotProven, chain, n)
	case !bytes.HasSuffix(found, []byte(macStart+macOf(mark)+`"}`)):
		return nil, fmt.Errorf("%w: line %d of chain %s changed", ErrNotProven, n, chain)
	}
	return found, nil
}

// parseMark returns the chain and the number of a mark.
func parseMark(mark string) (chain string, n uint64, err error) {
	parts := strings.Split(mark, "/")
	if len(parts) == 3 {
		n, err = strconv.ParseUint(parts[1], 10, 64)
	}
	if len(parts) != 3 || err != nil {
		return "", 0, fmt.Errorf("%q is no mark of a receipt: chain/number/mac", mark)
	}
	return parts[0], n, nil
}

type verifier struct {
	dir    string
	key    string // fingerprint
	mac    hash.Hash
	chains map[string][]string // files of each chain, in order
	heads  map[string]string
	cuts   cuts
	ends   map[string]uint64 // number of the last line of each chain
	seen   map[string]string // heads that other chains recorded: number/mac

	recorded map[string]string // heads that were recorded elsewhere: number/mac

	cutsChanged bool
}

func newVerifier(dir string) (*verifier, error) {
	key, err := readKey(dir, false)
	if err != nil {
		return nil, err
	}
	v := &verifier{dir: dir, key: fingerprint(key), mac: hmac.New(sha256.New, key), ends: map[string]uint64{}, seen: map[string]string{}}
	if v.heads, err = heads(dir); err != nil {
		return nil, err
	}
	if v.chains, err = chains(dir); err != nil {
		return nil, err
	}
	var ok bool
	v.cuts, ok, err = readCuts(dir, key) // after the files are listed: the record is written before a file is removed
	v.cutsChanged = !ok
	return v, err
}

// chains returns the files of each chain.
func chains(dir string) (map[string][]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") {
			name := chainOf(e.Name())
			all[name] = append(all[name], e.Name())
		}
	}
	for _, files := range all {
		slices.SortFunc(files, func(a, b string) int { return partOf(a) - partOf(b) })
	}
	return all, nil
}

func partOf(file string) int {
	parts := strings.Split(strings.TrimSuffix(file, ".log"), "-")
	if len(parts) < 4 {
		return 1
	}
	n, _ := strconv.Atoi(parts[3])
	return n
}

// chain checks each line against the preceding one.
func (v *verifier) chain(name string, r *Report) error {
	before := first(v.mac, name)
	n, begin, ended := uint64(0), uint64(0), false
	tell := func(n uint64, format string, args ...any) {
		r.Problems = append(r.Problems, Problem{name, n, fmt.Sprintf(format, args...)})
	}
	err := v.lines(name, func(line []byte, whole bool) bool {
		n++
		if !whole {
			tell(n, "the last line is torn: a crash or a cut, it cannot be told")
			n--
			return false
		}
		body, sum, ok := splitLine(line)
		if !ok {
			tell(n, "it is no line of this log")
			return false
		}
		if got := number(body); n == 1 && got > 1 && got == numberOf(v.cuts[name])+1 {
			n, begin, before = got, got-1, v.cutMAC(name)
		} else if got != n {
			tell(n, "line %d stands here: lines are missing or in another order", got)
			return false
		}
		if !hmac.Equal(lineMAC(v.mac, before, body), sum) {
			tell(n, "it was changed, or the one before was")
			return false
		}
		before = bytes.Clone(sum)
		v.ends[name] = n
		v.learn(body)
		v.checkHead(name, n, sum, tell)
		ended = bytes.Contains(body, []byte(`,"event":"end"`))
		return true
	})
	r.Lines += max(v.ends[name], begin) - begin
	if !ended {
		r.Open[name] = v.ends[name]
	}
	if head := numberOf(v.heads[name]); head > v.ends[name] {
		tell(0, "it is %d lines behind the head: a crash or a cut, it cannot be told", head-v.ends[name])
	} else if head == 0 && v.ends[name] > 0 && ended {
		tell(0, "its head is gone")
	}
	return err
}

// cutMAC is the MAC of the last line of a chain that retention removed.
func (v *verifier) cutMAC(name string) []byte {
	sum, _ := hex.DecodeString(macOf(v.cuts[name])) // valid hex: the seal of the record was checked
	return sum
}

func (v *verifier) checkHead(name string, n uint64, sum []byte, tell func(uint64, string, ...any)) {
	head := v.heads[name]
	if numberOf(head) == n && macOf(head) != hex.EncodeToString(sum) {
		tell(n, "the head has another MAC for it")
	}
	head = v.recorded[name]
	if numberOf(head) == n && macOf(head) != hex.EncodeToString(sum) {
		tell(n, "the database has another MAC for it")
	}
}

// learn records the heads of other chains that the first line of a chain names.
func (v *verifier) learn(body []byte) {
	if !bytes.Contains(body, []byte(`,"event":"begin"`)) {
		return
	}
	var begin struct{ Seen map[string]string }
	if json.Unmarshal(append(bytes.Clone(body), '}'), &begin) != nil {
		return
	}
	for name, head := range begin.Seen {
		if numberOf(head) >= numberOf(v.seen[name]) {
			v.seen[name] = head
		}
	}
}

// gone reports chains that others recorded and that are missing.
func (v *verifier) gone(r *Report) {
	for _, name := range slices.Sorted(maps.Keys(v.seen)) {
		switch want := numberOf(v.seen[name]); {
		case v.chains[name] == nil && v.cuts[name] != "" && numberOf(v.cuts[name]) >= want:
		case v.chains[name] == nil:
			r.Problems = append(r.Problems, Problem{name, 0, fmt.Sprintf("the chain is gone; it had %d lines or more", want)})
		case v.ends[name] < want && numberOf(v.heads[name]) < want:
			r.Problems = append(r.Problems, Problem{name, 0, fmt.Sprintf("it had %d lines when another process began", want)})
		}
	}
	for name, head := range v.heads {
		if v.chains[name] == nil && v.seen[name] == "" && numberOf(head) > numberOf(v.cuts[name]) {
			r.Problems = append(r.Problems, Problem{name, 0, fmt.Sprintf("the chain is gone; its head is at line %d", numberOf(head))})
		}
	}
}

// lost reports lines and chains that were recorded elsewhere and that are missing, if nothing in the folder tells so.
func (v *verifier) lost(recorded []Head, r *Report) {
	for _, h := range recorded {
		want, at := numberOf(h.Last), h.At.UTC().Format("2006-01-02 15:04:05 UTC")
		switch {
		case want <= max(v.ends[h.Chain], numberOf(v.heads[h.Chain]), numberOf(v.seen[h.Chain]), numberOf(v.cuts[h.Chain])), v.cuts.forgot(h.Chain):
		case v.chains[h.Chain] == nil:
			r.Problems = append(r.Problems, Problem{h.Chain, 0, fmt.Sprintf("the chain is gone; the database has its line %d of %s", want, at)})
		default:
			r.Problems = append(r.Problems, Problem{h.Chain, 0, fmt.Sprintf("it ends at line %d, and the database has its line %d of %s: the disk was set back, or its end cut off", v.ends[h.Chain], want, at)})
		}
	}
}

func number(body []byte) uint64 {
	text, _, _ := bytes.Cut(bytes.TrimPrefix(body, []byte(`{"n":`)), []byte(","))
	n, _ := strconv.ParseUint(string(text), 10, 64)
	return n
}

// numberOf and macOf parse number/mac, with or without a leading chain.
func numberOf(head string) uint64 {
	parts := strings.Split(head, "/")
	n, _ := strconv.ParseUint(parts[max(0, len(parts)-2)], 10, 64)
	return n
}

func macOf(head string) string { return head[strings.LastIndexByte(head, '/')+1:] }

// lines calls f for each line of a chain until it returns false.
func (v *verifier) lines(name string, f func(line []byte, whole bool) bool) error {
	for _, file := range v.chains[name] {
		more, err := eachLine(filepath.Join(v.dir, file), f)
		if err != nil || !more {
			return err
		}
	}
	return nil
}
