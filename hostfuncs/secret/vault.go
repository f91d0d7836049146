package secret

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
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// valueAge is the time for which a value is cached: short enough for a rotated token, and long enough that the
	// keyring is not queried for every request.
	valueAge = time.Minute
	// maxRemembered bounds the values of one plugin that are redacted, including old ones.
	maxRemembered = 64
)

// Vault manages the secrets of one plugin. It is safe for concurrent use.
type Vault struct {
	home     string
	key      []byte // key of the placeholders
	plugin   string
	kept     Kept
	redactor atomic.Pointer[Redactor] // for every value that was read

	mu     sync.Mutex
	values map[string]value
	seen   []Value
}

type value struct {
	text string
	at   time.Time
}

// NewVault returns the vault of a plugin. home is the operator's home folder, or empty. Vaults with the same key make
// the same placeholders. kept holds the values that were set by name.
func NewVault(home string, key []byte, plugin string, kept Kept) *Vault {
	return &Vault{home: home, key: key, plugin: plugin, kept: kept, values: map[string]value{}}
}

// NewVaultKey returns a random key.
func NewVaultKey() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}

// Value returns the value of a line. The error is an *AskError that names its source, and the command that sets it.
// flags are the flags of that command that select this host's state folder, or empty.
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
	v.remember(Value{Name: line.Name, Text: text})
	return text, nil
}

func (v *Vault) read(line grant.Secret, flags string) (string, error) {
	if line.From != "" {
		from, err := ParseSource(line.From)
		if err != nil {
			return "", err
		}
		return from.Read(v.home)
	}
	text, err := Source{Kind: Env, Name: line.Name}.Read(v.home)
	if err == nil {
		return text, nil
	}
	text, other := v.kept.Get(line.Name)
	switch {
	case other == nil:
		return text, nil
	case !errors.Is(err, ErrUnset):
		return "", err // the variable exists, but is not a valid secret
	case errors.Is(other, ErrUnset) || v.kept.Dir == "":
		return "", fmt.Errorf("it is not set: %s asks for it", strings.TrimSpace("sallyport secret set "+line.Name+" "+flags))
	}
	return "", other
}

// remember adds a value to the redactor.
func (v *Vault) remember(known Value) {
	if slices.Contains(v.seen, known) {
		return
	}
	if len(v.seen) >= maxRemembered {
		v.seen = v.seen[1:]
	}
	v.seen = append(v.seen, known)
	v.redactor.Store(NewRedactor(v.seen...))
}

// Redactor returns the redactor of the values read so far. It is nil before the first.
func (v *Vault) Redactor() *Redactor { return v.redactor.Load() }

// Restorer returns a redactor for text that is sent back to a server, such as redirects. It replaces values by the
// plugin's placeholders if known reports that the plugin has one for the name.
func (v *Vault) Restorer(known func(name string) bool) *Redactor {
	v.mu.Lock()
	seen := slices.Clone(v.seen)
	v.mu.Unlock()
	for i := range seen {
		if known(seen[i].Name) {
			seen[i].Instead = v.Placeholder(seen[i].Name)
		}
	}
	return NewRedactor(seen...)
}

// Placeholder returns the text that a plugin's configuration has in place of a value. It is stable while the host
// runs, and useless to any other plugin.
func (v *Vault) Placeholder(name string) string {
	mac := hmac.New(sha256.New, v.key)
	mac.Write([]byte(v.plugin + "\x00" + name))
	return "sallyport-" + hex.EncodeToString(mac.Sum(nil)[:20])
}
