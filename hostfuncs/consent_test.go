package hostfuncs_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// office is a host with an operator to ask, in one process of a state folder, with the operator's own desk.
type office struct {
	t       *testing.T
	answers *store.Store
	host    *hostfuncs.Host
	plugin  hostfuncs.Plugin
	asked   chan store.Question // each new question
	ahead   atomic.Int64        // offset of the desk's clock, in nanoseconds
}

func newOffice(t *testing.T, wait bool, o hostfuncs.Options, wants []string, lines ...string) *office {
	t.Helper()
	dir := t.TempDir()
	stores := [2]*store.Store{}
	for i := range stores {
		stores[i] = store.New(store.Options{Dir: dir})
		t.Cleanup(func() { stores[i].Close() })
	}
	f := &office{t: t, answers: stores[1], asked: make(chan store.Question, 100), plugin: hostfuncs.Plugin{
		Name: "demo", Digest: "sha256:1", Grants: mustSet(t, lines...)}}
	o.Operator = consent.New(consent.Options{
		Store: stores[0], Wait: wait, Told: func(q store.Question) { f.asked <- q },
		Now: func() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) },
	})
	f.host = hostfuncs.NewHost(&o)
	t.Cleanup(f.host.Close)
	for _, w := range wants {
		f.plugin.Wants = append(f.plugin.Wants, hostfuncs.Want{Grants: mustSet(t, w), Why: "to \x1b[2Jlook\n"})
	}
	return f
}

func (f *office) call() *hostfuncs.Gate {
	g := f.host.Plugin(f.plugin).NewGate(hostfuncs.Call{ID: "c", Principal: "stdio:1", Method: "tools/call"})
	f.t.Cleanup(g.Close)
	return g
}

// fetch is a call that makes one request.
func (f *office) fetch(params string) error {
	f.t.Helper()
	_, err := fetch(f.t, f.call(), params)
	return err
}

// waiting returns the only pending question.
func (f *office) waiting() store.Question {
	f.t.Helper()
	all, err := f.answers.Questions(f.t.Context())
	if err != nil || len(all) != 1 {
		f.t.Fatalf("got %d questions %+v, %v, want one", len(all), all, err)
	}
	return all[0]
}

func (f *office) silent() {
	f.t.Helper()
	if all, err := f.answers.Questions(f.t.Context()); len(all) != 0 || err != nil {
		f.t.Errorf("got questions %+v, %v, want none", all, err)
	}
}

func (f *office) allow(id string, a store.Answer) {
	f.t.Helper()
	if _, err := f.answers.Allow(f.t.Context(), id, a); err != nil {
		f.t.Fatal(err)
	}
	f.later()
}

// later advances the desk's clock, which notices grants of other processes after a quarter of a second.
func (f *office) later() { f.ahead.Add(int64(300 * time.Millisecond)) }

// refused checks the reason of a denial and the exact command in its hint.
func (f *office) refused(err error, part, hint string) {
	f.t.Helper()
	var ask *runtime.AskError
	if !errors.As(err, &ask) || ask.Kind != runtime.KindDenied || !strings.Contains(ask.Message, part) || ask.Hint != hint {
		f.t.Errorf("got %+v, want a refusal with %q and %q", err, part, hint)
	}
}

// takesBack is the hint of a denial after a no.
func (f *office) takesBack() string {
	f.t.Helper()
	all, err := f.answers.Refused(f.t.Context())
	if err != nil || len(all) != 1 {
		f.t.Fatalf("got answers %+v, %v, want one", all, err)
	}
	return "sallyport revoke " + all[0].ID + ", which takes that back"
}

// allows is the hint of a denial with a pending question.
func allows(q store.Question) string { return "sallyport allow " + q.ID + ", or the line " + q.Line }

func pages(t *testing.T) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }).URL
}

func post(u, body string) string { return fmt.Sprintf(`{"method":"POST","url":%q,"body":%q}`, u, body) }

func TestConsent_answerAllowsLaterCalls(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, []string{"net: GET " + site + "/pages/**"})
	err := f.fetch(get(site + "/pages/1"))
	q := f.waiting()
	f.refused(err, "no grant allows it; the operator has been asked", allows(q))
	f.refused(err, "has been asked, and may allow with --want --always all of net: GET "+site+"/pages/**", allows(q))
	if q.Plugin != "demo" || q.Digest != "sha256:1" || q.Principal != "stdio:1" || q.Effect != "GET "+site+"/pages/1" ||
		q.Line != "net: GET "+site+"/pages/1?" || q.Want != "net: GET "+site+"/pages/**" || q.Why != `to \x1b[2Jlook\n` {
		t.Errorf("got question %+v, want that of the page with its want", q)
	}
	f.refused(f.fetch(get(site+"/pages/1")), "has been asked", allows(q))
	f.refused(f.fetch(get(site+"/other")), "no grant allows it", "net: GET "+site+"/other?") // never declared
	f.waiting()
	f.allow(q.ID, store.Answer{})
	for range 2 {
		if err := f.fetch(get(site + "/pages/1")); err != nil {
			t.Error(err)
		}
	}
	f.silent()
	f.refused(f.fetch(get(site+"/pages/2")), "has been asked", allows(f.waiting()))
	f.allow(f.waiting().ID, store.Answer{Want: true})
	if err := f.fetch(get(site + "/pages/3")); err != nil {
		t.Error(err)
	}
	f.plugin.Digest = "sha256:2"
	f.refused(f.fetch(get(site+"/pages/1")), "has been asked", allows(f.waiting()))
}

// TestConsent_onceCoversOneExactRequest checks that a one-time answer is for one exact request.
func TestConsent_onceCoversOneExactRequest(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, []string{"net: POST " + site + "/**"})
	f.fetch(post(site+"/x", "one"))
	q := f.waiting()
	f.allow(q.ID, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
	f.refused(f.fetch(post(site+"/x", "two")), "has been asked", allows(f.waiting()))
	if err := f.fetch(post(site+"/x", "one")); err != nil {
		t.Error(err)
	}
	if err := f.fetch(post(site+"/x", "one")); err == nil {
		t.Errorf("a second use: got success, want an error")
	}
}

// TestConsent_onceIsKeptUntilRequestLeaves checks that a one-time answer remains until its request is sent, and no
// longer.
func TestConsent_onceIsKeptUntilRequestLeaves(t *testing.T) {
	t.Parallel()
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rude.Close() })
	go func() { // accepts and closes each connection
		for {
			c, err := rude.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	for _, test := range []struct {
		site, request string
		kept          bool
	}{
		{"http://" + nobody, "POST", true}, {"http://" + nobody, "GET", true},
		{"http://" + rude.Addr().String(), "POST", false}, {"http://" + rude.Addr().String(), "GET", false},
	} {
		f := newOffice(t, false, hostfuncs.Options{}, []string{"net: " + test.request + " " + test.site + "/**"})
		request := get(test.site + "/x")
		if test.request == "POST" {
			request = post(test.site+"/x", "one")
		}
		f.fetch(request)
		q := f.waiting()
		f.allow(q.ID, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
		for range 2 {
			if err := f.fetch(request); err == nil {
				t.Errorf("%s %s: got success, want an error", test.request, test.site)
			}
			all, err := f.answers.Grants(t.Context())
			if kept := len(all) == 1 && all[0].ID == q.ID && all[0].Once && all[0].Binding != ""; err != nil || kept != test.kept {
				t.Errorf("%s %s: got grants %+v, %v, want the answer kept: %t", test.request, test.site, all, err, test.kept)
			}
		}
	}
}

// TestConsent_commandHidesFoldersFromRemoteCallers checks that commands in denials name this host's folders to local
// callers, and never to callers with a token.
func TestConsent_commandHidesFoldersFromRemoteCallers(t *testing.T) {
	url := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, []string{"net: GET " + url + "/**"})
	o := hostfuncs.Options{Operator: consent.New(consent.Options{Store: f.answers, Flags: "--config /srv/secret.yaml --state /srv/state"})}
	host := hostfuncs.NewHost(&o)
	t.Cleanup(host.Close)
	for principal, flags := range map[string]string{"stdio:1": " --config /srv/secret.yaml --state /srv/state", "socket:1": " --config /srv/secret.yaml --state /srv/state", "cli": " --config /srv/secret.yaml --state /srv/state", "token:alice": "", "anonymous": " --config /srv/secret.yaml --state /srv/state"} {
		g := host.Plugin(f.plugin).NewGate(hostfuncs.Call{ID: "c", Principal: principal, Method: "tools/call"})
		_, err := fetch(t, g, `{"url":"`+url+`/x"}`)
		var ask *runtime.AskError
		if !errors.As(err, &ask) {
			t.Fatal(err)
		}
		all, _ := f.answers.Questions(t.Context())
		q := all[len(all)-1]
		for _, one := range all {
			if one.Principal == principal {
				q = one
			}
		}
		if want := "sallyport allow " + q.ID + flags + ", or the line " + q.Line; ask.Hint != want {
			t.Errorf("%s is told %q, want %q", principal, ask.Hint, want)
		}
		g.Close()
	}
}

func TestConsent_waitingCallContinuesWithAnswer(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, true, hostfuncs.Options{}, []string{"net: GET " + site + "/**"})
	for i, answer := range []func(id string) error{
		func(id string) error { return f.answers.Deny(t.Context(), id, time.Now().Add(time.Hour)) },
		func(id string) error {
			_, err := f.answers.Allow(t.Context(), id, store.Answer{Once: true, Expires: time.Now().Add(time.Hour)})
			return err
		},
	} {
		ended := make(chan error)
		go func() { ended <- f.fetch(get(site + fmt.Sprint("/", i))) }()
		f.soon(func(q store.Question) error { return answer(q.ID) })
		err := <-ended
		if i == 0 {
			f.refused(err, "the operator said no", f.takesBack())
		} else if err != nil {
			t.Error(err)
		}
	}
	f.refused(f.fetch(get(site+"/0")), "the operator said no", f.takesBack()) // at once
	f.silent()
}

// TestConsent_neverAsksWhatNoAnswerMayAllow checks that no one is asked about effects that no answer may allow.
func TestConsent_neverAsksWhatNoAnswerMayAllow(t *testing.T) {
	t.Parallel()
	home := world(t)
	z := &zone{names: map[string][][]string{"inside.example": {{"10.0.0.7"}}}}
	f := newOffice(t, false, hostfuncs.Options{Home: home, Web: egress.Options{Resolver: z}, Protected: []string{filepath.Join(home, "state")}},
		[]string{"net: GET http://**", "net: POST https://a.example/**", "fs: read ~/**"}, "deny: net: GET http://b.example/**")
	f.plugin.Grants = f.plugin.Grants.Under(mustSet(t, "net: GET http://**", "net: GET http://127.0.0.1/**", "net: GET http://localhost/**", "net: GET http://[::1]/**", "fs: read ~/**"))
	for request, why := range map[string]string{
		get("http://b.example/"):                       "denies it",
		`{"method":"POST","url":"https://a.example/"}`: "max_grants does not reach it",
		get("http://127.0.0.1/"):                       "no grant allows it", // stars never match addresses of this network
		get("http://localhost/"):                       "no grant allows it",
		get("http://[::1]/"):                           "no grant allows it",
	} {
		_, err := fetch(t, f.call(), request)
		var ask *runtime.AskError
		if !errors.As(err, &ask) || !strings.Contains(ask.Message, why) || strings.Contains(ask.Message, "asked") {
			t.Errorf("%s: got %v, want a refusal with %q and no question", request, err, why)
		}
	}
	for _, path := range []string{"/state/sallyport/sallyport.yaml", "/.ssh/id"} {
		if _, e := readFile(f.call().Files(), home+path); e != wasi.ENOENT {
			t.Errorf("%s: got %v, want %v", path, e, wasi.ENOENT)
		}
	}
	f.silent()
	// An allowed host name must still not resolve to an internal address.
	f.fetch(get("http://inside.example/"))
	f.allow(f.waiting().ID, store.Answer{})
	if err := f.fetch(get("http://inside.example/")); err == nil || !strings.Contains(err.Error(), "leads to a private address") {
		t.Error(err)
	}
}

// TestConsent_askLineNeedsNoWant checks that an ask line needs no want, and that its answer is for one effect.
func TestConsent_askLineNeedsNoWant(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, nil, "net: GET "+site+"/** {ask: true}")
	f.refused(f.fetch(get(site+"/1")), "asks for a confirmation; the operator has been asked", allows(f.waiting()))
	if q := f.waiting(); q.Want != "" || q.Line != "net: GET "+site+"/1?" {
		t.Errorf("got question %+v, want the line of /1 and no want", q)
	}
	f.allow(f.waiting().ID, store.Answer{})
	if err := f.fetch(get(site + "/1")); err != nil {
		t.Error(err)
	}
}

// TestConsent_tenThousandEffectsAskFewQuestions checks that ten thousand effects of a plugin lead to a few questions,
// and that the next plugin can still ask.
func TestConsent_tenThousandEffectsAskFewQuestions(t *testing.T) {
	t.Parallel()
	f := newOffice(t, false, hostfuncs.Options{}, []string{"net: GET http://loud.example/**"})
	g := f.call()
	for i := range 10_000 {
		fetch(t, g, get(fmt.Sprint("http://loud.example/", i)))
	}
	f.waiting()
	for i := range 100 {
		f.fetch(get(fmt.Sprint("http://loud.example/", i)))
	}
	if all, _ := f.answers.Questions(t.Context()); len(all) != store.MaxOfOne {
		t.Errorf("got %d questions, want %d", len(all), store.MaxOfOne)
	}
	f.refused(f.fetch(get("http://loud.example/more")), "no grant allows it; the operator is not asked, since 20 questions of this plugin wait or were refused",
		"sallyport pending and sallyport grants list them, or the line net: GET http://loud.example/more?")
	f.plugin.Name, f.plugin.Wants = "quiet", []hostfuncs.Want{{Grants: mustSet(t, "net: GET http://quiet.example/**")}}
	f.refused(f.fetch(get("http://quiet.example/")), "has been asked", allows(f.last()))
}

// TestConsent_limitsQuestionsOfOneCall checks that a call that waits for each answer asks about each effect, up to a
// limit that it reports.
func TestConsent_limitsQuestionsOfOneCall(t *testing.T) {
	t.Parallel()
	f := newOffice(t, false, hostfuncs.Options{}, nil, "net: GET http://many.example/** {ask: true}")
	for i := range 25 {
		f.plugin.Wants = append(f.plugin.Wants, hostfuncs.Want{Grants: mustSet(t, fmt.Sprintf("net: GET http://many%d.example/", i))})
	}
	g := f.call()
	var err error
	for i := range 25 {
		_, err = fetch(t, g, get(fmt.Sprintf("http://many%d.example/", i)))
	}
	f.refused(err, "the operator is not asked, since one call asks 20 questions at most", "net: GET http://many24.example/?")
}

// last returns the newest question.
func (f *office) last() store.Question {
	all, err := f.answers.Questions(f.t.Context())
	if err != nil || len(all) == 0 {
		f.t.Fatalf("got questions %+v, %v, want some", all, err)
	}
	return all[len(all)-1]
}

// TestConsent_answerStaysUnderCeiling checks that a stored answer is read as one line, under the current ceiling, and
// so cannot widen itself.
func TestConsent_answerStaysUnderCeiling(t *testing.T) {
	t.Parallel()
	site := pages(t)
	f := newOffice(t, false, hostfuncs.Options{}, []string{"net: GET " + site + "/**"})
	f.fetch(get(site + "/1"))
	f.allow(f.waiting().ID, store.Answer{Want: true})
	f.plugin.Grants = grant.NewSet().Under(mustSet(t, "net: GET "+site+"/1"))
	if err := f.fetch(get(site + "/1")); err != nil {
		t.Error(err)
	}
	f.refused(f.fetch(get(site+"/2")), "max_grants does not reach it", "")
}
