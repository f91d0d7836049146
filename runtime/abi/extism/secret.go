package extism

import (
	"context"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// accessToken is the name of the secret that get_access_token returns.
const accessToken = "ACCESS_TOKEN"

// Secretive is implemented by a runtime.Gate that gives a plugin its secrets, mostly as placeholders.
type Secretive interface {
	// Secret returns the text for a secret that is granted to this call, by the name or the source in its line. The error
	// is one of Ask.
	Secret(ctx context.Context, nameOrSource string) (text string, ok bool, err error)
}

// secretOf returns the text for a secret; false if there is none or it cannot be had.
func secretOf(ctx context.Context, nameOrSource string) (string, bool) {
	g, ok := runtime.GateFrom(ctx).(Secretive)
	if !ok {
		return "", false
	}
	text, ok, err := g.Secret(ctx, nameOrSource)
	if err != nil && !refused(ctx, err) {
		runtime.Abort(err)
	}
	return text, ok
}

// getKeyringSecret implements get_keyring_secret({service, user} i64) -> i64: the secret whose line takes it from this
// entry of the keyring, or 0. No entry is read for a plugin without the line.
func getKeyringSecret(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	entry, err := jsonraw.ParseObject(c.text("a keyring entry", stack[0], maxAsk))
	stack[0] = 0
	service, named := jsonraw.String(entry.Get("service"))
	user, whose := jsonraw.String(entry.Get("user"))
	if err != nil || !named || !whose {
		return
	}
	if text, ok := secretOf(ctx, "keyring "+service+"/"+user); ok {
		stack[0] = c.give([]byte(text))
	}
}

// getAccessToken implements get_access_token(credentials i64) -> i64: the secret ACCESS_TOKEN as {access_token}, or null.
// The host has no OAuth flow for plugins, so the credentials are not used.
func getAccessToken(ctx context.Context, c *call, _ runtime.Memory, stack []uint64) {
	answer := []byte("null")
	if text, ok := secretOf(ctx, accessToken); ok {
		answer = jsonraw.Object{{Key: "access_token", Value: jsonraw.AppendString(nil, text)}}.Append(nil)
	}
	stack[0] = c.give(answer)
}
