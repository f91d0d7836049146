package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/internal/threads"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/runtime"
	"github.com/sallyport-mcp/sallyport/transport/auth"
	"github.com/sallyport-mcp/sallyport/transport/auth/oauth"
	"github.com/sallyport-mcp/sallyport/transport/forwarded"
	"github.com/sallyport-mcp/sallyport/transport/streamable"
)

// endpoint is an open listener with its options.
type endpoint struct {
	options  *streamable.Options
	listener *streamable.Listener
	tokens   *auth.Tokens // nil accepts calls without a token
}

// listenHTTP opens http.addr before plugins are loaded, so that an address in use fails at once. It returns nil if
// stdio is served.
func listenHTTP(ctx context.Context, s *settings.Settings, log *slog.Logger) (*endpoint, error) {
	if s.Text("http.addr") == "" {
		return nil, nil
	}
	proxies, err := networks(s, "http.proxies")
	if err != nil {
		return nil, err
	}
	callers, err := networks(s, "http.clients")
	if err != nil {
		return nil, err
	}
	o := &streamable.Options{
		Addr:        s.Text("http.addr"),
		Path:        s.Text("http.path"),
		LegacySSE:   s.Bool("http.legacy_sse"),
		Origins:     s.List("http.origins"),
		TLSCert:     s.Text("http.tls_cert"),
		TLSKey:      s.Text("http.tls_key"),
		BehindProxy: s.Bool("http.behind_proxy"),
		Proxies:     proxies,
		Clients:     callers,
		Leaving:     ctx.Done(),
		Drain:       s.Duration("http.drain"),
		Rate:        streamable.Rate{PerSecond: float64(s.Count("http.rate"))},
		Connections: s.Count("http.connections"),
		Bodies:      int(s.Bytes("http.bodies")),
		Sessions:    s.Count("http.sessions"),
		Logger:      log,
	}
	tokens, err := httpTokens(s)
	if err != nil {
		return nil, err
	}
	if tokens != nil {
		o.Tokens = tokens
	}
	if o.OAuth, err = signIn(ctx, s); err != nil {
		return nil, err
	}
	listener, err := streamable.Listen(o)
	if errors.Is(err, streamable.ErrNoTokens) {
		return nil, ui.Hint(err, "%s makes the first token: start again then", tokenCommand(s))
	}
	if err != nil {
		return nil, err
	}
	return &endpoint{o, listener, tokens}, nil
}

// signIn opens the issuers of access tokens, nil if there are none. It fails if clients could not sign in by what this
// server publishes.
func signIn(ctx context.Context, s *settings.Settings) (*oauth.Resource, error) {
	if s.Auth == nil {
		return nil, nil
	}
	if err := checkPublic(s); err != nil {
		return nil, err
	}
	o := *s.Auth
	o.URL = s.Text("http.public_url")
	r, err := oauth.Open(ctx, &o)
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	return r, nil
}

// checkPublic refuses settings with which clients would not reach the address that is published, or need no token there.
func checkPublic(s *settings.Settings) error {
	address, proxy := s.Text("http.public_url"), s.Bool("http.behind_proxy")
	u, err := url.Parse(address)
	switch {
	case address == "":
		return errors.New("auth.issuers needs http.public_url, the address of the endpoint for clients: https://HOST" + s.Text("http.path"))
	case err != nil:
		return fmt.Errorf("http.public_url: %q is no address", address)
	case s.Bool("http.no_token"):
		return errors.New("auth.issuers and http.no_token contradict each other: with both, callers need no token")
	case strings.HasPrefix(s.Text("http.addr"), "unix:") && !proxy:
		return errors.New("auth.issuers on a unix socket needs http.behind_proxy: callers are identified by their user otherwise")
	case !proxy && u.Path != s.Text("http.path"):
		return fmt.Errorf("http.public_url has the path %q, and the endpoint is %s: only a proxy in front (http.behind_proxy) can differ", u.Path, s.Text("http.path"))
	case !proxy && (u.Scheme == "https") != (s.Text("http.tls_cert") != ""):
		return errors.New("http.public_url is https if and only if http.tls_cert and http.tls_key are there, or a proxy ends TLS (http.behind_proxy)")
	}
	return nil
}

// networks returns the ranges of addresses of a setting.
func networks(s *settings.Settings, key string) (forwarded.Networks, error) {
	n, err := forwarded.ParseNetworks(s.List(key))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return n, nil
}

// lingering returns a context that is done http.linger after ctx. A caller calls stop when it is no longer used.
func lingering(ctx context.Context, s *settings.Settings) (later context.Context, stop func()) {
	linger := s.Duration("http.linger")
	if linger <= 0 {
		return ctx, func() {}
	}
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	waiting := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(linger, cancel)
		context.AfterFunc(later, func() { timer.Stop() })
	})
	return later, func() {
		waiting()
		cancel()
	}
}

// serve answers requests until ctx is done.
func (e *endpoint) serve(ctx context.Context, s *settings.Settings, server *protocol.Server, std stdio) error {
	threads.Fit(runtime.DefaultConcurrency() + 1) // one more than the calls that a plugin runs at once by default
	greet(std, s, e.listener.URL(), e.tokens)
	return e.listener.Serve(ctx, streamable.NewHandler(server, e.options))
}

// close closes the listener, if there is one; after serve it has no effect.
func (e *endpoint) close() {
	if e != nil {
		_ = e.listener.Close() // fails if closed already
	}
}

// greet prints the server's address and how to authenticate.
func greet(std stdio, s *settings.Settings, url string, tokens *auth.Tokens) {
	fmt.Fprintf(std.err, "serving %s on %s\n", s.Text("dir"), url)
	switch {
	case strings.HasPrefix(url, "unix:") && !s.Bool("http.behind_proxy"):
		fmt.Fprintln(std.err, "no token is asked for: programs of this user can call")
		return
	case tokens == nil:
		fmt.Fprintln(std.err, "no token is asked for: every program on this machine can call")
		return
	}
	fmt.Fprintf(std.err, "a token is asked for: %s\n", tokenAdvice(s, url))
}

// tokenAdvice returns the command that gives a client its token: client-config for the local token of loopback
// addresses, else token.
func tokenAdvice(s *settings.Settings, url string) string {
	if _, err := httpServer(s); err != nil {
		return tokenCommand(s) + " makes one, for this server's next start"
	}
	return withFlags(s, "sallyport client-config CLIENT --http "+url) + " prints it"
}

// tokenCommand returns the command that makes a token for these settings.
func tokenCommand(s *settings.Settings) string { return withFlags(s, "sallyport token NAME") }

// withFlags adds the flags that lead a command to the files of these settings.
func withFlags(s *settings.Settings, command string) string {
	return strings.TrimSpace(command + " " + s.Flags())
}

// httpTokens returns the accepted tokens: the named ones, and the local token on loopback. Nil accepts calls without a
// token.
func httpTokens(s *settings.Settings) (*auth.Tokens, error) {
	if s.Bool("http.no_token") {
		return nil, nil
	}
	tokens, err := namedTokens(s)
	if err != nil {
		return nil, err
	}
	local := streamable.Options{Addr: s.Text("http.addr"), BehindProxy: s.Bool("http.behind_proxy") || len(s.List("http.proxies")) > 0}
	if !local.Local() {
		return tokens, nil
	}
	token, err := localToken(s)
	if err != nil {
		return nil, err
	}
	return tokens.With("local", token)
}

func namedTokens(s *settings.Settings) (*auth.Tokens, error) {
	tokens, err := auth.Load(s.TokensFile())
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && s.Text("http.tokens") == "":
		return nil, nil
	case missing:
		return nil, ui.Hint(fmt.Errorf("http.tokens: there is no file %s", s.TokensFile()), "%s makes it with its first token: start again then", tokenCommand(s))
	}
	return tokens, err
}

// localToken returns the token of programs on this machine, and creates it on first use.
func localToken(s *settings.Settings) (string, error) {
	if err := userfile.MakeFolder(s.Text("state")); err != nil {
		return "", err
	}
	token, _, err := auth.Local(s.State().LocalToken())
	return token, err
}
