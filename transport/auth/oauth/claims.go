package oauth

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sallyport-mcp/sallyport/internal/identity"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	maxSubject = 255 // OpenID Connect Core, section 2
	maxName    = 256 // of a group or a scope
	maxNames   = 512 // groups or scopes of one token
	// MaxSkew bounds the tolerated difference of clocks.
	MaxSkew = 5 * time.Minute
)

// claims are the verified claims of a token, or an issuer's answer about it.
type claims struct {
	raw    []byte
	issuer *issuer
	keys   *keys // in force before the token was verified
}

// of sets the issuer, before anything of the token is verified: keys that change meanwhile let it be verified again.
func (c *claims) of(i *issuer) { c.issuer, c.keys = i, i.keys.current.Load() }

// identity returns the caller. The audience, times and names have been checked in the order of this function.
func (c *claims) identity(now time.Time, skew time.Duration) (id identity.Identity, until time.Time, err error) {
	if err := c.checkAudience(); err != nil {
		return id, until, err
	}
	if until, err = c.checkTimes(now, skew); err != nil {
		return id, until, err
	}
	if jsonraw.Get(c.raw, "cnf") != nil {
		return id, until, invalid("is bound to a key of its client (cnf), which cannot be checked here: ask the issuer for bearer tokens")
	}
	subject, err := c.subject()
	if err != nil {
		return id, until, err
	}
	groups, err := c.groups()
	if err != nil {
		return id, until, err
	}
	scopes, err := c.scopes()
	if err != nil {
		return id, until, err
	}
	if id, err = identity.New(principal(c.issuer.URL, subject), groups, scopes); err != nil {
		return id, until, invalid("names a caller in a form that is not accepted")
	}
	return id, until, nil
}

// checkAudience requires the resource among the audiences. It repeats oidc's check on exact names: encoding/json reads
// "AUD" as "aud".
func (c *claims) checkAudience() error {
	raw := jsonraw.Get(c.raw, "aud")
	list, ok := texts(raw)
	switch {
	case raw == nil:
		return invalid("has no audience: want %s", c.issuer.Audience)
	case !ok:
		return invalid("has an audience that is neither a text nor a list of texts")
	case !slices.Contains(list, c.issuer.Audience):
		return invalid("is for another audience: want %s", c.issuer.Audience)
	}
	return nil
}

// checkTimes returns the time of expiry, zero if the token has none.
func (c *claims) checkTimes(now time.Time, skew time.Duration) (until time.Time, err error) {
	for _, name := range []string{"exp", "nbf", "iat"} {
		raw := jsonraw.Get(c.raw, name)
		if raw == nil {
			continue
		}
		at, ok := date(raw)
		switch {
		case !ok:
			return until, invalid("has an %s that is not a time", name)
		case name == "exp" && !now.Before(at.Add(skew)):
			return until, invalid("has expired")
		case name == "exp":
			until = at.Add(skew)
		case now.Add(skew).Before(at):
			return until, invalid("is not valid yet (%s)", name)
		}
	}
	return until, nil
}

// date returns a NumericDate of RFC 7519.
func date(raw json.RawMessage) (time.Time, bool) {
	const end = 253402300800 // the year 10000
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || seconds < 0 || seconds >= end || math.IsNaN(seconds) {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

func (c *claims) subject() (string, error) {
	subject, ok := exactText(jsonraw.Get(c.raw, "sub"))
	if !ok || subject == "" || len(subject) > maxSubject {
		return "", invalid("has a subject that is not a text of 1 to %d bytes", maxSubject)
	}
	return subject, nil
}

// principal joins an issuer and a subject so that no two pairs are equal, also where names are folded, normalized or
// split: the issuer has no "|" (see checkAddress), and of the subject all bytes but some ASCII ones are escaped.
func principal(issuer, subject string) string {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-._~@:+=,ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	b := []byte("oauth:" + issuer + "|")
	for i := range len(subject) {
		if strings.IndexByte(plain, subject[i]) >= 0 {
			b = append(b, subject[i])
			continue
		}
		b = append(b, '%', "0123456789ABCDEF"[subject[i]>>4], "0123456789ABCDEF"[subject[i]&15])
	}
	return string(b)
}

func (c *claims) groups() ([]string, error) {
	path := c.issuer.Groups
	if len(path) == 0 {
		path = []string{"groups"}
	}
	list, ok := names(jsonraw.Get(c.raw, path...))
	if !ok {
		return nil, invalid("has groups that are not up to %d texts of 1 to %d bytes", maxNames, maxName)
	}
	if c.issuer.Name != "" {
		for i := range list {
			list[i] = c.issuer.Name + ":" + list[i]
		}
	}
	return list, nil
}

func (c *claims) scopes() ([]string, error) {
	raw := c.scopeClaim()
	if text, ok := exactText(raw); ok {
		raw = jsonraw.Strings(strings.Fields(text))
	}
	list, ok := names(raw)
	if !ok || slices.ContainsFunc(list, func(s string) bool { return !IsScope(s) }) {
		return nil, invalid("has scopes that are not up to %d texts of 1 to %d bytes", maxNames, maxName)
	}
	return list, nil
}

func (c *claims) scopeClaim() json.RawMessage {
	if path := c.issuer.Scopes; len(path) > 0 {
		return jsonraw.Get(c.raw, path...)
	}
	if raw := jsonraw.Get(c.raw, "scope"); raw != nil {
		return raw
	}
	return jsonraw.Get(c.raw, "scp")
}

// IsScope reports whether s is a scope-token of RFC 6749.
func IsScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// names returns a list of names, sorted and each once. No value is an empty list.
func names(raw json.RawMessage) ([]string, bool) {
	if raw == nil {
		return nil, true
	}
	list, ok := texts(raw)
	if !ok || len(list) > maxNames {
		return nil, false
	}
	for _, name := range list {
		if name == "" || len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
			return nil, false
		}
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

// texts returns a text, or a list of texts, as a list.
func texts(raw json.RawMessage) ([]string, bool) {
	if text, ok := exactText(raw); ok {
		return []string{text}, true
	}
	items, err := jsonraw.Elements(raw)
	if err != nil {
		return nil, false
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		text, ok := exactText(item)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// exactText decodes a string, and refuses one that decoding would change: unpaired surrogates all become U+FFFD.
func exactText(raw json.RawMessage) (string, bool) {
	text, ok := jsonraw.String(raw)
	return text, ok && !strings.ContainsRune(text, unicode.ReplacementChar)
}
