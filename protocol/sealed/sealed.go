// Package sealed makes text that a server hands to a client and wants back as it was: nobody else can
// read it, and nobody can change it.
//
//	1 · key id [4] · salt [16] · AES-256-GCM(HKDF(key, salt), nonce · text · tag)      in base64url
//
// The first of the keys seals; each of them opens. So a key is taken out of use by putting a new one
// before it, and removing it when what it sealed has expired. Processes with the same keys open each
// other's texts. Every text has a key of its own, made of a random salt, so that how many there are is
// of no matter.
package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync/atomic"
)

const (
	version = 1
	// KeySize is the least number of bytes of a key.
	KeySize = 32
	// MaxKeys bounds how many keys are in use: each is tried on no text but its own, but all are kept.
	MaxKeys = 16

	idSize   = 4
	saltSize = 16
	head     = 1 + idSize + saltSize
)

// ErrInvalid says that a text was not sealed with one of the keys, or was changed since.
var ErrInvalid = errors.New("not sealed here")

// Keys seal and open. They are safe for concurrent use.
type Keys struct {
	keys atomic.Pointer[[]key]
}

type key struct {
	id     [idSize]byte
	secret []byte
}

// NewKeys returns keys of these secrets, which have KeySize bytes each at least. The first one seals.
func NewKeys(secrets ...[]byte) (*Keys, error) {
	if len(secrets) == 0 || len(secrets) > MaxKeys {
		return nil, fmt.Errorf("%d keys: give 1 to %d", len(secrets), MaxKeys)
	}
	all := make([]key, 0, len(secrets))
	for i, s := range secrets {
		if len(s) < KeySize {
			return nil, fmt.Errorf("key %d has %d bytes: a key has %d at least", i+1, len(s), KeySize)
		}
		one := key{secret: append([]byte{}, s...)}
		sum := sha256.Sum256(append([]byte("sallyport key id "), s...))
		copy(one.id[:], sum[:])
		all = append(all, one)
	}
	k := &Keys{}
	k.keys.Store(&all)
	return k, nil
}

// Replace takes over the keys of others, as one step.
func (k *Keys) Replace(others *Keys) { k.keys.Store(others.keys.Load()) }

// RandomKey returns a new secret of KeySize bytes.
func RandomKey() []byte {
	s := make([]byte, KeySize)
	rand.Read(s)
	return s
}

// Random returns keys that no other process has.
func Random() *Keys {
	k, err := NewKeys(RandomKey())
	if err != nil {
		panic(err) // it has the right size
	}
	return k
}

// Seal returns text that only Open turns back.
func (k *Keys) Seal(plain []byte) string {
	box := make([]byte, head, head+len(plain)+64)
	box[0] = version
	first := (*k.keys.Load())[0]
	copy(box[1:], first.id[:])
	rand.Read(box[1+idSize:])
	box = first.cipher(box[1+idSize:head]).Seal(box, nil, plain, box[:head])
	return base64.RawURLEncoding.EncodeToString(box)
}

// Open returns what was sealed. The error is ErrInvalid.
func (k *Keys) Open(text string) ([]byte, error) {
	box, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(box) < head || box[0] != version {
		return nil, ErrInvalid
	}
	for _, one := range *k.keys.Load() {
		if string(one.id[:]) != string(box[1:1+idSize]) {
			continue
		}
		if plain, err := one.cipher(box[1+idSize:head]).Open(nil, nil, box[head:], box[:head]); err == nil {
			return plain, nil
		}
	}
	return nil, ErrInvalid
}

// cipher is the cipher of one text. It draws its nonce by itself.
func (k key) cipher(salt []byte) cipher.AEAD {
	own, err := hkdf.Key(sha256.New, k.secret, salt, "sallyport sealed text", 32)
	if err != nil {
		panic(err) // the length is right
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		panic(err) // likewise
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	return aead
}
