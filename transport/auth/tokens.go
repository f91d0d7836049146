package auth

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// maxFile bounds a tokens file, in bytes: about ten thousand tokens, which are all compared for each request.
	maxFile = 1 << 20
	// maxToken bounds a token that is hashed, in bytes. Issued tokens have 46, and longer ones are not issued here.
	maxToken = 512
	// maxName bounds the name of a token. It is part of every log line of its calls.
	maxName = 64
	// tokenPrefix makes tokens recognizable for secret scanners and people.
	tokenPrefix = "sp_"
	tokenBytes  = 32
)

// ErrDuplicate reports a name that exists already.
var ErrDuplicate = errors.New("there is a token of this name already")

// Tokens is an immutable set of named tokens, stored as hashes. It is safe for concurrent use. A nil set is empty: it
// denies every token.
type Tokens struct{ list []named }

type named struct {
	name string
	hash [sha256.Size]byte
}

// Parse reads lines of name:hash. Empty lines and lines that begin with # are skipped. Errors name the line.
func Parse(r io.Reader) (*Tokens, error) {
	t := new(Tokens)
	lines := bufio.NewScanner(io.LimitReader(r, maxFile))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		next, err := t.parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		t = next
	}
	return t, lines.Err()
}

func (t *Tokens) parseLine(line string) (*Tokens, error) {
	name, text, ok := strings.Cut(line, ":")
	if !ok {
		return nil, errors.New("want name:hash")
	}
	name, text = strings.TrimSpace(name), strings.TrimSpace(text)
	e := named{name: name}
	if n, err := hex.Decode(e.hash[:], sized(text)); err != nil || n != len(e.hash) {
		return nil, fmt.Errorf("the hash of %q must be 64 hexadecimal digits", name)
	}
	return t.with(e)
}

// sized makes a hash of the wrong length undecodable, so that it cannot overflow its buffer.
func sized(text string) []byte {
	if len(text) != hex.EncodedLen(sha256.Size) {
		return []byte("-")
	}
	return []byte(text)
}

// With returns the set with one more token, given in plain text. The set may be nil.
func (t *Tokens) With(name, token string) (*Tokens, error) {
	return t.with(named{name: name, hash: sha256.Sum256([]byte(token))})
}

func (t *Tokens) with(e named) (*Tokens, error) {
	if err := checkName(e.name); err != nil {
		return nil, err
	}
	next := new(Tokens)
	if t != nil {
		next.list = t.list[:len(t.list):len(t.list)]
	}
	for _, other := range next.list {
		if other.name == e.name {
			return nil, fmt.Errorf("%q: %w", e.name, ErrDuplicate)
		}
	}
	next.list = append(next.list, e)
	return next, nil
}

// Verify returns the name of a token, and a proof that is distinct for each token, even of the same name. Its time is
// constant for all tokens of one length, known or not.
func (t *Tokens) Verify(token string) (name, proof string, ok bool) {
	if t == nil || token == "" || len(token) > maxToken {
		return "", "", false
	}
	hash := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.list {
		same := subtle.ConstantTimeCompare(t.list[i].hash[:], hash[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return "", "", false
	}
	sum := sha256.Sum256(append([]byte("sallyport caller "), hash[:]...))
	return t.list[found].name, hex.EncodeToString(sum[:]), true
}

// New returns a random token.
func New() string {
	var b [tokenBytes]byte
	rand.Read(b[:]) // never fails: the process ends instead
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// Line returns the line of a tokens file for a token, without a line end.
func Line(name, token string) string {
	hash := sha256.Sum256([]byte(token))
	return name + ":" + hex.EncodeToString(hash[:])
}

// checkName requires 1 to 64 letters, digits, dots, underscores and hyphens: a name becomes part of principals and
// logs.
func checkName(name string) error {
	for _, c := range []byte(name) {
		if !bytes.ContainsRune([]byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"), rune(c)) {
			return fmt.Errorf("the name %q may hold only letters, digits and . _ -", name)
		}
	}
	if name == "" || len(name) > maxName {
		return fmt.Errorf("the name of a token has 1 to %d characters", maxName)
	}
	return nil
}
