package oauth

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

const (
	// maxToken bounds a token, in bytes. Those with many groups have 8 KiB.
	maxToken = 16 << 10
	maxKeyID = 256
)

// form is the kind of a token, by its outside.
type form uint8

const (
	opaque form = iota
	signed      // a JWT, of three parts
)

// shape returns the kind of a token. A token that could be mistaken for another kind is refused.
func shape(token string) (form, error) {
	switch {
	case token == "":
		return opaque, invalid("is missing")
	case len(token) > maxToken:
		return opaque, invalid("is longer than %d bytes", maxToken)
	case strings.ContainsFunc(token, outsideToken) || token[0] == '=':
		return opaque, invalid("has characters that tokens do not have")
	}
	first, _, dotted := strings.Cut(token, ".")
	header, err := decode(first)
	if !dotted || err != nil || !jsonraw.IsObject(header) {
		return opaque, nil
	}
	switch strings.Count(token, ".") {
	case 2:
		return signed, nil
	case 4:
		return opaque, invalid("is encrypted (JWE): signed ones are accepted")
	}
	return opaque, invalid("is not a JWT of three parts")
}

// outsideToken reports a character that is not in b64token of RFC 6750.
func outsideToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/=", r)
}

func decode(part string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(part) }

// checkHeader refuses a header that names keys itself, or asks for what is not done here.
func checkHeader(token string, algorithms []string) error {
	part, _, _ := strings.Cut(token, ".")
	raw, _ := decode(part) // shape has checked it
	if checkObject(raw) != nil {
		return invalid("has a header that is not one JSON object with distinct names")
	}
	for _, name := range []string{"jku", "jwk", "x5u", "x5c"} {
		if jsonraw.Get(raw, name) != nil {
			return invalid("brings its own key (%s): keys are read from the issuer alone", name)
		}
	}
	for _, name := range []string{"crit", "b64", "zip", "enc"} {
		if jsonraw.Get(raw, name) != nil {
			return invalid("has the header %s, which is not supported", name)
		}
	}
	if kid := jsonraw.Get(raw, "kid"); kid != nil {
		if id, ok := jsonraw.String(kid); !ok || id == "" || len(id) > maxKeyID {
			return invalid("has a kid that is not a text of 1 to %d bytes", maxKeyID)
		}
	}
	if typ := jsonraw.Get(raw, "typ"); typ != nil {
		kind, _ := jsonraw.String(typ)
		if !slices.Contains([]string{"jwt", "at+jwt", "application/at+jwt"}, strings.ToLower(kind)) {
			return invalid("is a JWT of another type: want at+jwt or JWT")
		}
	}
	algorithm, ok := jsonraw.String(jsonraw.Get(raw, "alg"))
	switch {
	case !ok:
		return invalid("names no algorithm")
	case strings.EqualFold(strings.TrimSpace(algorithm), "none"):
		return invalid("is not signed")
	case strings.HasPrefix(strings.ToUpper(algorithm), "HS"):
		return invalid("is signed with a shared secret: a key of the issuer is wanted")
	case !slices.Contains(algorithms, algorithm):
		return invalid("is signed with an algorithm that is not accepted")
	}
	return nil
}

// issuerOf returns the issuer that an unverified JWT names, for the choice of keys.
func issuerOf(token string) (string, error) {
	raw, err := decode(strings.Split(token, ".")[1])
	if err != nil || checkObject(raw) != nil {
		return "", invalid("has claims that are not one JSON object with distinct names")
	}
	name, ok := jsonraw.String(jsonraw.Get(raw, "iss"))
	if !ok {
		return "", invalid("names no issuer")
	}
	return name, nil
}
