// Package minisign verifies signatures of minisign, with its default algorithm and the older one, and makes them.
//
//	key, err := minisign.ParseKey("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
//	s, err := minisign.ParseSignature(text)
//	err = key.Verify(content, s)
//	// s.Comment is signed too
//
//	secret, err := minisign.ParseSecret(file, password)
//	text, err = secret.Sign(content, "weather 1.2.0")
package minisign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// MaxSignature limits a signature, in bytes; its comments are lines.
const MaxSignature = 16 << 10

// The algorithms of a signature.
const (
	legacy    = "Ed" // of the content
	prehashed = "ED" // of its BLAKE2b-512
)

// Key is a public key.
type Key struct {
	id  [8]byte
	key ed25519.PublicKey
}

// Errors of Verify.
var (
	// errContent means that the content is not the signed one.
	errContent = errors.New("the bytes are not those that were signed")
	// errComment means that the trusted comment was changed.
	errComment = errors.New("the trusted comment of its signature was changed")
)

// KeyError means that a different key signed.
type KeyError struct{ Signed, Wanted string }

// Error names both keys.
func (e *KeyError) Error() string {
	return fmt.Sprintf("it is signed with the key %s, and not with %s", e.Signed, e.Wanted)
}

// ParseKey parses a public key: one line of base64, or the file with a comment above it.
func ParseKey(text string) (Key, error) {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(lines[len(lines)-1]))
	if err != nil || len(lines) > 2 || len(raw) != 2+8+ed25519.PublicKeySize || string(raw[:2]) != legacy {
		return Key{}, fmt.Errorf("%.80q is no public key of minisign: want the line that begins with RW", text)
	}
	return Key{id: [8]byte(raw[2:10]), key: ed25519.PublicKey(raw[10:])}, nil
}

// ID returns the number of the key, as minisign prints it.
func (k Key) ID() string { return idText(k.id) }

func idText(id [8]byte) string { return fmt.Sprintf("%016X", binary.LittleEndian.Uint64(id[:])) }

// Signature is a parsed signature.
type Signature struct {
	Comment string // the trusted comment: the key vouches for it too, once Verify succeeded

	algorithm string
	id        [8]byte
	content   []byte // signature of the content
	comment   []byte // signature of both
}

// ParseSignature parses the file of a signature.
func ParseSignature(text []byte) (s Signature, err error) {
	malformed := errors.New("its signature is not one of minisign")
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
	if len(text) > MaxSignature || len(lines) != 4 || !strings.HasPrefix(lines[0], "untrusted comment:") {
		return s, malformed
	}
	raw, err := base64.StdEncoding.DecodeString(lines[1])
	if err != nil || len(raw) != 2+8+ed25519.SignatureSize {
		return s, malformed
	}
	s.algorithm, s.id, s.content = string(raw[:2]), [8]byte(raw[2:10]), raw[10:]
	if s.algorithm != legacy && s.algorithm != prehashed {
		return s, fmt.Errorf("its signature has an unknown algorithm, %q", s.algorithm)
	}
	comment, ok := strings.CutPrefix(lines[2], "trusted comment: ")
	if s.comment, err = base64.StdEncoding.DecodeString(lines[3]); err != nil || !ok || len(s.comment) != ed25519.SignatureSize {
		return s, malformed
	}
	s.Comment = comment
	return s, nil
}

// ID returns the number of the key that signed, as the signature says.
func (s Signature) ID() string { return idText(s.id) }

// Verify returns nil if the key signed the content and the trusted comment.
func (k Key) Verify(content []byte, s Signature) error {
	if s.id != k.id {
		return &KeyError{Signed: s.ID(), Wanted: k.ID()}
	}
	message := content
	if s.algorithm == prehashed {
		sum := blake2b.Sum512(content)
		message = sum[:]
	}
	if !ed25519.Verify(k.key, message, s.content) {
		return errContent
	}
	if !ed25519.Verify(k.key, bytes.Join([][]byte{s.content, []byte(s.Comment)}, nil), s.comment) {
		return errComment
	}
	return nil
}
