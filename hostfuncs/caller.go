package hostfuncs

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/runtime"
)

const learnCaller = "learn its caller"

// described is the answer of caller/get. A caller without a name has no member.
type described struct {
	Pseudonym string   `json:"pseudonym,omitempty"`
	Principal string   `json:"principal,omitempty"`
	Groups    []string `json:"groups,omitempty"`
}

// knowsCaller decides whether a plugin may learn any part of the identity of its caller.
func knowsCaller(s *grant.Set) grant.Decision {
	first := s.Caller(grant.Pseudonym)
	for _, part := range []string{grant.Principal, grant.Groups} {
		if first.Allowed {
			break
		}
		if d := s.Caller(part); d.Allowed {
			return d
		}
	}
	return first
}

// describeCaller serves caller/get → {pseudonym?, principal?, groups?}: the parts of the caller's identity that lines
// grant. A nested call has the caller of the outermost one.
func describeCaller(ctx context.Context, g *Gate, params json.RawMessage, _ runtime.Streams) (json.RawMessage, error) {
	var result json.RawMessage
	err := g.pass(ctx, effect{
		family: "caller", act: learnCaller, target: learnCaller, decide: knowsCaller,
		learning: learning{propose: func(func(string) (string, bool)) string { return callerLine(g.rules.grants) }},
		entry:    answerEntry("caller/get", params, &result),
		do: func(ctx context.Context, _ grant.Decision) error {
			d, err := g.described(ctx)
			if err == nil {
				result, err = json.Marshal(d)
			}
			return err
		},
	})
	return result, err
}

// callerLine returns the line for all parts that a set grants, and the least one if it grants none.
func callerLine(s *grant.Set) string {
	line := "caller: "
	for _, part := range []string{grant.Pseudonym, grant.Principal, grant.Groups} {
		if !s.Caller(part).Allowed {
			continue
		}
		if line != "caller: " {
			line += ", "
		}
		line += part
	}
	if line == "caller: " {
		line += grant.Pseudonym
	}
	return line
}

// described returns the granted parts of the caller's identity.
func (g *Gate) described(ctx context.Context) (d described, err error) {
	principal, set := g.call.Principal, g.rules.grants
	if !identity.Named(principal) {
		return d, nil
	}
	if set.Caller(grant.Principal).Allowed {
		d.Principal = principal
	}
	if set.Caller(grant.Groups).Allowed {
		d.Groups = g.call.Roles.Groups
	}
	if set.Caller(grant.Pseudonym).Allowed {
		d.Pseudonym, err = g.policy.host.pseudonym(ctx, g.policy.plugin.Name, principal)
	}
	return d, err
}

// pseudonyms makes the names of callers for plugins. It is safe for concurrent use.
type pseudonyms struct {
	mu  sync.Mutex
	key []byte // of the store; nil before its first use
}

// The place of the key in the store: no plugin has an empty name.
var (
	pseudonymSpace = store.Space{}
	pseudonymKey   = "pseudonyms"
)

// pseudonym returns the name of a principal for one plugin: the same on all hosts of one store, and of no use to others.
func (h *Host) pseudonym(ctx context.Context, plugin, principal string) (string, error) {
	key, err := h.pseudonyms.keyOf(ctx, h.options.Store)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(plugin + "\x00" + principal)) // a plugin's name has no zero byte
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// keyOf returns the key of a store. The first host that needs it makes it.
func (p *pseudonyms) keyOf(ctx context.Context, kept *store.Store) ([]byte, error) {
	if kept == nil {
		return nil, askErrorf(runtime.KindUnsupported, "there are no pseudonyms without a store")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != nil {
		return p.key, nil
	}
	item, err := kept.Value(ctx, pseudonymSpace, pseudonymKey)
	if errors.Is(err, store.ErrNotFound) {
		fresh, absent := make([]byte, sha256.Size), int64(0)
		rand.Read(fresh)
		err = kept.Commit(ctx, pseudonymSpace, maxKey, []store.Write{{Key: pseudonymKey, Value: fresh, If: &absent}}, nil)
		if err == nil || errors.Is(err, store.ErrConflict) { // then that of the other host holds
			item, err = kept.Value(ctx, pseudonymSpace, pseudonymKey)
		}
	}
	if err != nil || len(item.Value) != sha256.Size {
		return nil, askErrorf(runtime.KindUnavailable, "the store of pseudonyms cannot be read")
	}
	p.key = item.Value
	return p.key, nil
}

func callerFamily() family {
	return family{
		name: "caller", acts: []string{learnCaller}, explain: plain("caller", knowsCaller, learnCaller),
		methods: map[string]method{"caller/get": describeCaller}, replay: replayRecorded,
	}
}
