// Package sealed encrypts and authenticates text that a server gives to a client and expects back unchanged.
//
//	1 · key id [4] · salt [16] · AES-256-GCM(HKDF(key, salt), nonce · text · tag)      in base64url
//
// The first key seals, and all keys open. To rotate a key, put a new one in front, and remove the old one when its
// texts have expired. Processes with the same keys open each other's texts. A random salt derives a new cipher key
// per text, so there is no limit on their number.
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
	// keySize is the minimum length of a key, in bytes.
	keySize = 32
	// maxKeys is the maximum number of keys. A text names its key, so only that one is tried.
	maxKeys = 16

	idSize   = 4
	saltSize = 16
	head     = 1 + idSize + saltSize
)

// ErrInvalid means that a text was modified or not sealed with one of the keys.
var ErrInvalid = errors.New("not sealed here")

// Keys seal and open. They are safe for concurrent use.
type Keys struct {
	keys atomic.Pointer[[]key]
}

type key struct {
	id     [idSize]byte
	secret []byte
}

// NewKeys returns keys of these secrets, each of at least 32 bytes. The first one seals.
func NewKeys(secrets ...[]byte) (*Keys, error) {
	if len(secrets) == 0 || len(secrets) > maxKeys {
		return nil, fmt.Errorf("%d keys: give 1 to %d", len(secrets), maxKeys)
	}
	all := make([]key, 0, len(secrets))
	for i, s := range secrets {
		if len(s) < keySize {
			return nil, fmt.Errorf("key %d has %d bytes: a key has %d at least", i+1, len(s), keySize)
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

// Replace atomically replaces all keys with those of others.
func (k *Keys) Replace(others *Keys) { k.keys.Store(others.keys.Load()) }

// RandomKey returns a new secret of 32 bytes.
func RandomKey() []byte {
	s := make([]byte, keySize)
	rand.Read(s)
	return s
}

// Random returns new keys, unknown to other processes.
func Random() *Keys {
	k, err := NewKeys(RandomKey())
	if err != nil {
		panic(err) // the size is valid
	}
	return k
}

// Seal returns plain as a text for Open.
func (k *Keys) Seal(plain []byte) string {
	box := make([]byte, head, head+len(plain)+64)
	box[0] = version
	first := (*k.keys.Load())[0]
	copy(box[1:], first.id[:])
	rand.Read(box[1+idSize:])
	box = first.cipher(box[1+idSize:head]).Seal(box, nil, plain, box[:head])
	return base64.RawURLEncoding.EncodeToString(box)
}

// Open returns the plain text of a sealed text. The error is ErrInvalid.
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

// cipher returns the cipher of one text. It generates its own nonce.
func (k key) cipher(salt []byte) cipher.AEAD {
	own, err := hkdf.Key(sha256.New, k.secret, salt, "sallyport sealed text", 32)
	if err != nil {
		panic(err) // the length is valid
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		panic(err) // the length is valid
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the required block size
	}
	return aead
}
