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
	"unicode"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const (
	// valueAge is the time for which a value is cached: short enough for a rotated token, and long enough that the
	// keyring is not queried for every request.
	valueAge = time.Minute
	// maxRemembered bounds the values of one plugin that are redacted, including old ones.
	maxRemembered = 64
	// maxCallers bounds the callers whose values a vault keeps between calls.
	maxCallers = 1024
)

// Vault manages the secrets of one plugin. It is safe for concurrent use.
type Vault struct {
	home     string
	key      []byte // key of the placeholders
	plugin   string
	kept     Kept
	redactor atomic.Pointer[Redactor] // for every value that was read

	base      *Vault // the plugin's, if this is a caller's; nil if it is the plugin's
	principal string // the caller
	joined    atomic.Pointer[joinedRedactor]

	mu     sync.Mutex // also while a value is read
	values map[string]value
	absent map[string]absence // names without a value of this caller in the keyring
	seen   []Value

	finding sync.Mutex // guards callers
	callers map[string]*Vault
}

// joinedRedactor is the redactor of a caller's values and the plugin's.
type joinedRedactor struct{ own, base, all *Redactor }

// For returns the vault of one caller of the plugin. Its values for lines per principal are the caller's own, and its
// redactor covers these and the plugin's. A principal without a name, "" or anonymous, has no values.
func (v *Vault) For(principal string) *Vault {
	v.finding.Lock()
	defer v.finding.Unlock()
	c := v.callers[principal]
	if c != nil {
		return c
	}
	for other := range v.callers {
		if len(v.callers) < maxCallers {
			break
		}
		delete(v.callers, other) // calls under way keep theirs
	}
	if v.callers == nil {
		v.callers = map[string]*Vault{}
	}
	c = &Vault{home: v.home, key: v.key, plugin: v.plugin, kept: v.kept, values: map[string]value{}, absent: map[string]absence{}, base: v, principal: principal}
	v.callers[principal] = c
	return c
}

type value struct {
	text string
	at   time.Time
}

// absence is the lack of a value in the keyring, with Kept.stamp.
type absence struct {
	stamp string
	at    time.Time
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
	switch {
	case !line.PerPrincipal && v.base != nil:
		return v.base.Value(line, flags)
	case line.PerPrincipal && !identity.Named(v.principal):
		return "", runtime.AskErrorf(runtime.KindUnavailable, "the secret %s cannot be had: it is a value of each caller, and this one has no name", line.Name)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	key := line.Name + "\x00" + line.From
	if k, ok := v.values[key]; ok && time.Since(k.at) < valueAge {
		return k.text, nil
	}
	text, err := v.read(line, flags)
	if errors.Is(err, errOwn) {
		return "", v.unset(line.Name, flags)
	}
	if err != nil {
		return "", runtime.AskErrorf(runtime.KindUnavailable, "the secret %s cannot be had: %v", line.Name, err)
	}
	v.values[key] = value{text, time.Now()}
	v.remember(Value{Name: line.Name, Text: text})
	return text, nil
}

// errOwn reports that a caller has no value of its own.
var errOwn = errors.New("the caller has no value of its own")

// unset returns the error for a caller without a value. The message does not name the caller, since the plugin gets it.
func (v *Vault) unset(name, flags string) error {
	err := runtime.AskErrorf(runtime.KindUnavailable, "the secret %s cannot be had: %v", name, errOwn)
	err.Hint = strings.TrimSpace("sallyport secret set " + name + " --principal " + shellWord(v.principal) + " " + flags)
	return err
}

// shellWord quotes a text as one word of a shell.
func shellWord(text string) string {
	special := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+=,", r)
	}
	if !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func (v *Vault) read(line grant.Secret, flags string) (string, error) {
	if line.PerPrincipal {
		text, err := v.own(line.Name)
		if errors.Is(err, ErrUnset) || err != nil && v.kept.Dir == "" {
			err = errOwn
		}
		return text, err
	}
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

// own returns the caller's value. The keyring is a program of its own: that it has none is cached until a value is set. The
// caller holds mu.
func (v *Vault) own(name string) (string, error) {
	kept := v.kept.For(v.principal)
	if kept.Dir == "" {
		return kept.Get(name)
	}
	stamp := kept.stamp() // before the keyring is read
	if a, is := v.absent[name]; is && a.stamp == stamp && time.Since(a.at) < valueAge {
		return kept.inFolder(name)
	}
	text, err := kept.Get(name)
	if errors.Is(err, ErrUnset) {
		v.absent[name] = absence{stamp, time.Now()}
	}
	return text, err
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
func (v *Vault) Redactor() *Redactor {
	own := v.redactor.Load()
	if v.base == nil {
		return own
	}
	base := v.base.Redactor()
	switch {
	case own == nil:
		return base
	case base == nil:
		return own
	}
	if j := v.joined.Load(); j != nil && j.own == own && j.base == base {
		return j.all
	}
	j := &joinedRedactor{own, base, NewRedactor(v.remembered()...)}
	v.joined.Store(j)
	return j.all
}

// remembered returns the values read so far, the plugin's too.
func (v *Vault) remembered() []Value {
	v.mu.Lock()
	seen := slices.Clone(v.seen)
	v.mu.Unlock()
	if v.base != nil {
		seen = append(seen, v.base.remembered()...)
	}
	return seen
}

// Restorer returns a redactor for text that is sent back to a server, such as redirects. It replaces values by the
// plugin's placeholders if known reports that the plugin has one for the name.
func (v *Vault) Restorer(known func(name string) bool) *Redactor {
	seen := v.remembered()
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
