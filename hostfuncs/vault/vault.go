// Package vault holds the secrets of one plugin: it reads values from where the operator keeps them, gives the plugin
// placeholders in their place, and takes their echoes out of what comes back.
//
//	v := vault.New(home, key, "github", secret.Kept{Dir: dir})
//	text, err := v.Value(line, "")       // looked at again within a minute, so that a rotated token is in use
//	env["TOKEN"] = v.Placeholder("TOKEN") // of use to nobody else
//	clean := v.Redactor().Text(answer)
//
// This package is internal to Sallyport: it is not promised to others.
package vault

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/secret"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// valueAge is how long a value is kept before its place is looked at again: a rotated token is in use
	// within a minute, and the keyring is not asked for every request.
	valueAge = time.Minute
	// maxRemembered bounds the values of one plugin that echoes are looked for, old ones included.
	maxRemembered = 64
)

// Vault holds the secrets of one plugin. It is safe for concurrent use.
type Vault struct {
	home     string
	key      []byte // placeholders are made with it
	plugin   string
	kept     secret.Kept
	redactor atomic.Pointer[secret.Redactor] // of every value that was read

	mu     sync.Mutex
	values map[string]value
	seen   []secret.Value
}

type value struct {
	text string
	at   time.Time
}

// New returns the vault of a plugin. home is the operator's home folder, empty for none; who has the same key makes the
// same placeholders; kept has what a person set by name.
func New(home string, key []byte, plugin string, kept secret.Kept) *Vault {
	return &Vault{home: home, key: key, plugin: plugin, kept: kept, values: map[string]value{}}
}

// NewKey is a key that no other process has.
func NewKey() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}

// Value returns the value of a line. The error is an *AskError that says where it should be, and with which flags the command
// that sets it finds this host's state folder; empty is none.
func (v *Vault) Value(line grant.Secret, flags string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := line.Name + "\x00" + line.From
	if k, ok := v.values[key]; ok && time.Since(k.at) < valueAge {
		return k.text, nil
	}
	text, err := v.read(line, flags)
	if err != nil {
		return "", runtime.AskErrorf(runtime.KindUnavailable, "the secret %s cannot be had: %v", line.Name, err)
	}
	v.values[key] = value{text, time.Now()}
	v.remember(secret.Value{Name: line.Name, Text: text})
	return text, nil
}

func (v *Vault) read(line grant.Secret, flags string) (string, error) {
	if line.From != "" {
		from, err := secret.ParseSource(line.From)
		if err != nil {
			return "", err
		}
		return from.Read(v.home)
	}
	text, err := secret.Source{Kind: secret.Env, Name: line.Name}.Read(v.home)
	if err == nil {
		return text, nil
	}
	text, other := v.kept.Get(line.Name)
	switch {
	case other == nil:
		return text, nil
	case !errors.Is(err, secret.ErrUnset):
		return "", err // the variable is there, and no secret
	case errors.Is(other, secret.ErrUnset) || v.kept.Dir == "":
		return "", fmt.Errorf("it is not set: %s asks for it", strings.TrimSpace("sallyport secret set "+line.Name+" "+flags))
	}
	return "", other
}

// remember has a value looked for in what comes back from now on.
func (v *Vault) remember(known secret.Value) {
	if slices.Contains(v.seen, known) {
		return
	}
	if len(v.seen) >= maxRemembered {
		v.seen = v.seen[1:]
	}
	v.seen = append(v.seen, known)
	v.redactor.Store(secret.NewRedactor(v.seen...))
}

// Redactor takes the values that were read so far out of texts; nil, which takes nothing out, before the first.
func (v *Vault) Redactor() *secret.Redactor { return v.redactor.Load() }

// Restorer is Redactor for what leads back to a server: values that the plugin has a placeholder of, which known tells by
// their names, become that placeholder again.
func (v *Vault) Restorer(known func(name string) bool) *secret.Redactor {
	v.mu.Lock()
	seen := slices.Clone(v.seen)
	v.mu.Unlock()
	for i := range seen {
		if known(seen[i].Name) {
			seen[i].Instead = v.Placeholder(seen[i].Name)
		}
	}
	return secret.NewRedactor(seen...)
}

// Placeholder is what a plugin has in its configuration in place of a value: the same for this plugin as
// long as the host runs, and of use to nobody else.
func (v *Vault) Placeholder(name string) string {
	mac := hmac.New(sha256.New, v.key)
	mac.Write([]byte(v.plugin + "\x00" + name))
	return "sallyport-" + hex.EncodeToString(mac.Sum(nil)[:20])
}
