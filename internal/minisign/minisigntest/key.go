// Package minisigntest makes keys and signatures of minisign for tests. The password of such a key takes a thousandth of
// the usual memory and time.
//
//	k := minisigntest.New("12345678")
//	os.WriteFile(file, k.File("password"), 0o600)
//	k.Public() // RWQ…
package minisigntest

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/scrypt"
)

// The limits of a key with a password: 1 MiB, in place of the 1 GiB of minisign.
const (
	operations = 1 << 15
	memory     = 16 << 20
	cost       = 1 << 10 // of scrypt, which follows from both
)

// Key is a pair of keys.
type Key struct {
	ID      string // eight bytes
	Private ed25519.PrivateKey
}

// New returns the key with an ID of eight bytes, the same for the same ID.
func New(id string) Key {
	return Key{id, ed25519.NewKeyFromSeed([]byte(strings.Repeat(id, 4)))}
}

// Public returns the line of the public key.
func (k Key) Public() string {
	return base64.StdEncoding.EncodeToString(slices.Concat([]byte("Ed"+k.ID), k.Private.Public().(ed25519.PublicKey)))
}

// File returns the file of the secret key, as minisign -G writes it with a password, and minisign -G -W without one: "".
func (k Key) File(password string) []byte {
	kind, limits, secret := "\x00\x00", make([]byte, 48), make([]byte, 32)
	plain := slices.Concat([]byte(k.ID), k.Private)
	if password != "" {
		kind = "Sc"
		copy(limits[:32], "salt")
		binary.LittleEndian.PutUint64(limits[32:], operations)
		binary.LittleEndian.PutUint64(limits[40:], memory)
		sum := blake2b.Sum256(append([]byte("Ed"), plain...))
		secret = sum[:]
	}
	secret = append(plain, secret...)
	if password != "" {
		stream, err := scrypt.Key([]byte(password), limits[:32], cost, 8, 1, len(secret))
		if err != nil {
			panic(err) // of constants, which are valid
		}
		for i := range secret {
			secret[i] ^= stream[i]
		}
	}
	raw := slices.Concat([]byte("Ed"+kind+"B2"), limits, secret)
	return []byte("untrusted comment: minisign encrypted secret key\n" + base64.StdEncoding.EncodeToString(raw) + "\n")
}

// Sign returns the file of a signature of a content, with the default algorithm of minisign.
func (k Key) Sign(content []byte) []byte { return []byte(k.SignAs("ED", string(content), "t")) }

// SignAs returns the file of a signature with an algorithm, ED or Ed, and a trusted comment.
func (k Key) SignAs(algorithm, content, comment string) string {
	message := []byte(content)
	if algorithm == "ED" {
		sum := blake2b.Sum512(message)
		message = sum[:]
	}
	sig := ed25519.Sign(k.Private, message)
	global := ed25519.Sign(k.Private, append(slices.Clone(sig), comment...))
	return "untrusted comment: by a test\n" + base64.StdEncoding.EncodeToString([]byte(algorithm+k.ID+string(sig))) +
		"\ntrusted comment: " + comment + "\n" + base64.StdEncoding.EncodeToString(global) + "\n"
}
