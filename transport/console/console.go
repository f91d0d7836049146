// Package console is a page for the person who runs the hosts of a state folder: what plugins want and may do, what they
// ask, with buttons to answer, which are held, and what the last calls did.
//
//	browser ──▶ /            the page, its script and its style: nothing of this host is in them
//	        ──▶ /state       all that is shown, as JSON                      ┐
//	        ──▶ /answer      one answer to one question, POST                │ Authorization: Bearer TOKEN
//	        ──▶ /order       approve, reject or grant what was shown, POST   ┘ Host and Origin of this page
//
// It listens on loopback only. The token stands in the fragment of the address that URL returns, which browsers
// send to nobody, and it is the only key: there is no cookie that another page could use. A page of another
// origin, or one that has rebound its name to this machine, is refused by Host and Origin before the token is
// looked at. What plugins say is data in the JSON, and becomes text of the page, never its markup.
//
//	c := console.New(console.Options{Store: s, House: h})
//	url, err := c.Listen("127.0.0.1:0")
//	defer c.Close()
//
// This package is internal to Sallyport: it is not promised to others.
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
	// readTime bounds how long a request may take to come, and writeTime how long its answer may take to go: both
	// stay on this machine.
	readTime  = 10 * time.Second
	writeTime = 30 * time.Second
	// maxConnections bounds those that are open at once: a newcomer takes the place of the oldest.
	maxConnections = 64
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
)

// Options configure a Console.
type Options struct {
	// Store is where questions and answers are.
	Store *store.Store
	// Note writes an answer into the audit log; nil notes nothing.
	Note func(consent.Answered) error
	// House is what the page shows of hosts and does with them; nil is none.
	House House
	// Logger hears of what cannot be told to the page; nil discards.
	Logger *slog.Logger
}

// Console is the page of one process. It is safe for concurrent use.
type Console struct {
	opts  Options
	desk  consent.Answers
	token string
	sum   [sha256.Size]byte // of the token

	mu     sync.Mutex
	server *http.Server // nil before Listen
	url    string
	ended  chan struct{} // closed when the server's goroutine is
}

// New returns a console that nobody can reach yet.
func New(o Options) *Console {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.House == nil {
		o.House = nobody{}
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

// Listen serves the page on a loopback address, port 0 being a free one, and returns where it is, with the token.
// It may be called again, and returns the same.
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
		_ = s.Serve(listener.NewPlaces(maxConnections).Listen(l)) // it ends with Close
	}(c.server, c.ended)
	return c.url, nil
}

// Close ends the page.
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

// ours reports whether a request was made for this page, by this page: no other origin's page makes one, and no
// name but this machine's leads here.
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

// opensPage reports whether a request opens the page in a tab, which a file of this person may do: nothing is in it.
func opensPage(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" && only(r, "Sec-Fetch-Mode") == "navigate" && only(r, "Sec-Fetch-Dest") == "document"
}

// only is the value of a header that stands once; of one that stands more often it is no value at all.
func only(r *http.Request, name string) string {
	switch values := r.Header.Values(name); len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	}
	return "more than one"
}
