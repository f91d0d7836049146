package oauth

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// maxCached bounds the verified tokens of one generation; a cache has two.
const maxCached = 8192

// digest identifies a token. The token itself is not kept.
type digest [sha256.Size]byte

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }

// verified is the result of a verification, valid until a time and for the keys that it was made with.
type verified struct {
	identity identity.Identity
	until    time.Time
	issuer   *issuer
	keys     *keys
}

// cache holds recently verified tokens in two generations: when the young one is full, it becomes the old one, and
// tokens that nobody used meanwhile go.
type cache struct {
	mu         sync.Mutex
	young, old map[digest]verified
}

func newCache() *cache { return &cache{young: map[digest]verified{}} }

func (c *cache) get(d digest, now time.Time) (identity.Identity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.young[d]
	if !ok {
		if v, ok = c.old[d]; ok {
			c.add(d, v)
		}
	}
	if !ok || !now.Before(v.until) || v.keys.from != v.issuer.keys.current.Load().from {
		return identity.Identity{}, false
	}
	return v.identity, true
}

func (c *cache) put(d digest, v verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(d, v)
}

func (c *cache) add(d digest, v verified) {
	if len(c.young) >= maxCached {
		c.old, c.young = c.young, map[digest]verified{}
	}
	c.young[d] = v
}
