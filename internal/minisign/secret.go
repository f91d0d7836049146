package minisign

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	aead "aead.dev/minisign"
)

// ErrPassword means that a password does not open the file of a secret key.
var ErrPassword = errors.New("the password of the key is wrong, or its file is damaged")

// Secret is a secret key. No verb of fmt prints it.
type Secret struct {
	key aead.PrivateKey
}

// Locked reports whether the file of a secret key has a password.
func Locked(file []byte) bool { return aead.IsEncrypted(bytes.TrimSpace(file)) }

// ParseSecret parses the file of a secret key, as minisign -G writes it. The password of a file that is locked takes up to
// 1 GiB of memory and some seconds, and ErrPassword is its refusal; of another file it is not read.
func ParseSecret(file []byte, password string) (s Secret, err error) {
	file = bytes.TrimSpace(file)
	if Locked(file) {
		if s.key, err = aead.DecryptKey(password, file); err != nil {
			err = ErrPassword
		}
		return s, err
	}
	if s.key.UnmarshalText(file) != nil {
		err = errors.New("it is no secret key of minisign") // the library's error could quote it
	}
	return s, err
}

// Public returns the public key.
func (s Secret) Public() (Key, error) {
	text, err := s.key.Public().(aead.PublicKey).MarshalText()
	if err != nil {
		return Key{}, err
	}
	return ParseKey(string(text))
}

// Format prints none of the key.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "a secret key of minisign") }

// Sign returns the file of a signature of a content and of a trusted comment, which is one line. Equal contents and
// comments have equal signatures. The signature is verified before it is returned: a damaged key makes wrong ones.
func (s Secret) Sign(content []byte, comment string) ([]byte, error) {
	r := aead.NewReader(bytes.NewReader(content))
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	text := r.SignWithComments(s.key, comment, "signature of minisign")
	public, err := s.Public()
	if err != nil {
		return nil, err
	}
	signature, err := ParseSignature(text)
	if err == nil && public.Verify(content, signature) != nil {
		err = errors.New("the secret key is damaged: its halves do not belong together")
	}
	return text, err
}

// String returns the line of a public key, which ParseKey reads.
func (k Key) String() string {
	return base64.StdEncoding.EncodeToString(bytes.Join([][]byte{[]byte(legacy), k.id[:], k.key}, nil))
}
