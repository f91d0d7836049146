package console

import (
	"embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

//go:embed page/index.html page/console.js page/console.css
var files embed.FS

// policy allows the page its own script and style, requests to its own origin, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// maxAnswer bounds the body of a request, in bytes: a form filled in by a person.
const maxAnswer = 64 << 10

// handler returns the HTTP handler of the page at an address.
func (c *Console) handler(at string) http.Handler {
	mux := http.NewServeMux()
	for path, f := range map[string][2]string{
		"GET /{$}":         {"page/index.html", "text/html; charset=utf-8"},
		"GET /console.js":  {"page/console.js", "text/javascript; charset=utf-8"},
		"GET /console.css": {"page/console.css", "text/css; charset=utf-8"},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", f[1])
			data, _ := files.ReadFile(f[0]) // embedded: cannot fail
			_, _ = w.Write(data)            // fails if the client has disconnected
		})
	}
	mux.Handle("GET /state", c.known(c.state))
	mux.Handle("POST /answer", c.known(c.answer))
	order := c.known(c.obey)
	mux.HandleFunc("POST /order", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(orderTime)) // its connection can
		order.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !ours(r, at) {
			http.Error(w, "this page is for this machine only", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// known authenticates requests by the token.
func (c *Console) known(serve func(*http.Request) (any, int, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.mayCall(r) {
			http.Error(w, "the token is missing: open the whole address that the host printed", http.StatusUnauthorized)
			return
		}
		body, code, err := serve(r)
		if err != nil {
			if code >= http.StatusInternalServerError { // other errors are shown on the page
				c.opts.Logger.Warn("the console could not serve", "path", r.URL.Path, "error", err)
			}
			http.Error(w, err.Error(), code)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // fails if the client has disconnected
	})
}

// state returns all data of the page.
func (c *Console) state(r *http.Request) (any, int, error) {
	s := struct {
		Questions []question `json:"questions"`
		Forms     []asked    `json:"forms"`
		Answers   []given    `json:"answers"`
		Hosts     []Host     `json:"hosts"`
		Calls     []Call     `json:"calls"`
	}{[]question{}, []asked{}, []given{}, c.opts.Backend.Hosts(), nil}
	calls, err := c.opts.Backend.Calls()
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	s.Calls = calls
	waiting, err := c.opts.Store.Questions(r.Context())
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	for _, q := range waiting {
		s.Questions = append(s.Questions, question{q.ID, q.Plugin, q.Digest, q.Principal, q.Effect, q.Line, consent.Open(q.Line), q.Want, consent.Open(q.Want), q.Why, q.Asked})
	}
	forms, err := elicit.List(r.Context(), c.opts.Store)
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	for _, f := range forms {
		s.Forms = append(s.Forms, asked{f.ID, f.Plugin, f.Digest, f.Principal, f.Message(), f.URL(), f.Fields(), f.Asked})
	}
	grants, err := c.opts.Store.Grants(r.Context())
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	for _, g := range grants {
		s.Answers = append(s.Answers, given{g.ID, g.Plugin, g.Line, g.Once, false, stamp(g.Expires)})
	}
	refused, err := c.opts.Store.Refused(r.Context())
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	for _, q := range refused {
		s.Answers = append(s.Answers, given{q.ID, q.Plugin, q.Effect, false, true, stamp(q.Expires)})
	}
	return s, http.StatusOK, nil
}

type question struct {
	ID        string    `json:"id"`
	Plugin    string    `json:"plugin"`
	Digest    string    `json:"digest"`
	Principal string    `json:"principal"`
	Effect    string    `json:"effect"`
	Line      string    `json:"line"`
	Open      string    `json:"open"` // parts of an effect that the line leaves open
	Want      string    `json:"want"`
	WantOpen  string    `json:"wantOpen"`
	Why       string    `json:"why"`
	Asked     time.Time `json:"asked"`
}

// given is one valid answer.
type given struct {
	ID      string     `json:"id"`
	Plugin  string     `json:"plugin"`
	What    string     `json:"what"`
	Once    bool       `json:"once"`
	Refused bool       `json:"refused"`
	Expires *time.Time `json:"expires"` // null is never
}

func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// bodyOf reads the body of a request. It must be JSON, which a form of another site cannot send.
func bodyOf(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer+1))
	if err == nil && (len(raw) > maxAnswer || only(r, "Content-Type") != "application/json") {
		err = errors.New("no short JSON")
	}
	return raw, err
}

// answer handles {id, answer}: once, hour, always, deny or revoke, and want for everything that the plugin announced.
// For a form it handles accept, decline or cancel, with values.
func (c *Console) answer(r *http.Request) (any, int, error) {
	var a struct {
		ID, Answer string
		Want       bool
		Values     []elicit.Value
	}
	raw, err := bodyOf(r)
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return nil, http.StatusBadRequest, errors.New("an answer is a short JSON object")
	}
	now, ctx := time.Now(), r.Context()
	allow := func(how store.Answer) error {
		how.Want = a.Want
		_, err := c.desk.Allow(ctx, a.ID, how)
		return err
	}
	switch a.Answer {
	case "once":
		err = allow(store.Answer{Once: true, Expires: now.Add(consent.OnceTime)})
	case "hour":
		err = allow(store.Answer{Expires: now.Add(time.Hour)})
	case "always":
		err = allow(store.Answer{})
	case "deny":
		err = c.desk.Deny(ctx, a.ID, now.Add(consent.RefusedTime))
	case "revoke":
		err = c.desk.Revoke(ctx, a.ID)
	case elicit.Accept, elicit.Decline, elicit.Cancel:
		return c.answerForm(ctx, a.ID, a.Answer, a.Values)
	default:
		return nil, http.StatusBadRequest, errors.New("an answer is once, hour, always, deny or revoke, or of a form accept, decline or cancel")
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, http.StatusConflict, errors.New("this was answered already")
	}
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	return struct{}{}, http.StatusOK, nil
}
