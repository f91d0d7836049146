// Package console serves a web page to the operator of a state folder: plugins with their grants and requests,
// pending questions and forms with buttons to answer, held plugins, and recent calls.
//
//	browser ──▶ /            the page, its script and its style: static
//	        ──▶ /state       all data of the page, as JSON                   ┐
//	        ──▶ /answer      one answer to one question, POST                │ Authorization: Bearer TOKEN
//	        ──▶ /order       approve, grant or install what was shown, POST  ┘ Host and Origin of this page
//
// It listens on loopback only. The token is in the fragment of the address that URL returns, which browsers do not
// send, and it is the only credential: there is no cookie that another page could use. Requests from a different
// origin, or with DNS rebinding, are refused by Host and Origin before the token is checked. Plugin output is data in
// the JSON and becomes text of the page, never markup.
//
//	c := console.New(console.Options{Store: s, Backend: h})
//	url, err := c.Listen("127.0.0.1:0")
//	defer c.Close()
package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/transport/listener"
)

const (
	// readTime bounds the time to read a request, and writeTime the time to write its response. Both stay on this
	// machine.
	readTime  = 10 * time.Second
	writeTime = 30 * time.Second
	// maxConnections bounds the open connections. A new one replaces the oldest.
	maxConnections = 64
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
)

// Options configure a Console.
type Options struct {
	// Store holds questions and answers.
	Store *store.Store
	// Note records an answer in the audit log; nil records none.
	Note func(consent.Answered) error
	// Backend provides the hosts of the page and their actions; nil is none.
	Backend Backend
	// Logger receives errors that cannot be shown on the page; nil discards them.
	Logger *slog.Logger
}

// Console is the page server of one process. It is safe for concurrent use.
type Console struct {
	opts  Options
	desk  consent.Answers
	token string
	sum   [sha256.Size]byte // SHA-256 of the token

	mu     sync.Mutex
	server *http.Server // nil before Listen
	url    string
	ended  chan struct{} // closed when the server's goroutine has ended
}

// New returns a console that does not listen yet.
func New(o Options) *Console {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Backend == nil {
		o.Backend = nobody{}
	}
	token := rand.Text()
	return &Console{
		opts: o, token: token, sum: sha256.Sum256([]byte(token)),
		desk: consent.Answers{Store: o.Store, By: consent.ByConsole, Note: o.Note},
	}
}

// Check refuses an address that other machines could reach.
func Check(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("the console's address %q is not HOST:PORT", addr)
	}
	if !loopback(host) {
		return fmt.Errorf("the console is for this machine only: write 127.0.0.1:%s", port)
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Listen serves the page on a loopback address, and returns its URL with the token. Port 0 chooses a free one. It is
// idempotent.
func (c *Console) Listen(addr string) (url string, err error) {
	if err := Check(addr); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return c.url, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("console: %w", err)
	}
	at := l.Addr().String()
	c.server = &http.Server{
		Handler: c.handler(at), ReadTimeout: readTime, WriteTimeout: writeTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(c.opts.Logger.Handler(), slog.LevelDebug),
	}
	c.url, c.ended = "http://"+at+"/#"+c.token, make(chan struct{})
	go func(s *http.Server, ended chan struct{}) {
		defer close(ended)
		_ = s.Serve(listener.NewPlaces(maxConnections).Listen(l)) // returns after Close
	}(c.server, c.ended)
	return c.url, nil
}

// Close stops the server.
func (c *Console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil
	}
	err := c.server.Close()
	<-c.ended
	return err
}

// mayCall reports whether a request has the token.
func (c *Console) mayCall(r *http.Request) bool {
	given, ok := strings.CutPrefix(only(r, "Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	return ok && subtle.ConstantTimeCompare(sum[:], c.sum[:]) == 1
}

// ours reports whether a request comes from this page: its Origin is not a different one, and its Host is the address
// of this machine.
func ours(r *http.Request, at string) bool {
	host, port, err := net.SplitHostPort(r.Host)
	_, own, _ := net.SplitHostPort(at)
	if err != nil || port != own || !loopback(host) {
		return false
	}
	site, origin := only(r, "Sec-Fetch-Site"), only(r, "Origin")
	if site != "" && site != "same-origin" && site != "none" && !opensPage(r) {
		return false
	}
	return origin == "" || origin == "http://"+r.Host
}

// opensPage reports whether a request opens the page in a tab, for which a local file of this user may be the origin:
// the page is static.
func opensPage(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" && only(r, "Sec-Fetch-Mode") == "navigate" && only(r, "Sec-Fetch-Dest") == "document"
}

// only returns the value of a header, empty if absent. A repeated header yields a text that equals no valid value.
func only(r *http.Request, name string) string {
	switch values := r.Header.Values(name); len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	}
	return "more than one"
}
