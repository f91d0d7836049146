package streamable

import (
	"fmt"
	"net/http"
	"testing"
)

func TestRate_limitsEachAddress(t *testing.T) {
	s := start(t, newFake(), &Options{Rate: Rate{PerSecond: 0.5, Burst: 2}, Tokens: tokens{"secret": "ci"}})
	for range 2 {
		s.want("in the burst", "POST", "{}", nil, 401, refused(noToken))
	}
	r := s.want("too many", "POST", "{}", nil, 429, refused("too many requests: wait 2 s"))
	if got := r.Header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q", got)
	}
	s.want("origin comes first", "POST", "{}", headers{"Origin": "http://evil"}, 403, refused(`origin "http://evil" is not allowed (http.origins)`))
}

func TestRate_limitsEachToken(t *testing.T) {
	s := start(t, newFake(), &Options{Rate: Rate{PerSecond: 0.001, Burst: 3}, BehindProxy: true, Tokens: tokens{"a": "alice", "b": "bob"}})
	ask := func(token, address string, status int, want string) {
		t.Helper()
		s.want(token, "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", headers{
			"Authorization": "Bearer " + token, "X-Forwarded-For": address,
		}), status, want)
	}
	for i := range 3 { // from several addresses
		ask("a", fmt.Sprintf("192.0.2.%d", i), 200, okBody)
	}
	ask("a", "192.0.2.7", 429, refused("too many requests: wait 1000 s"))
	ask("b", "192.0.2.7", 200, okBody)
}

func TestAdmission_findsTheAddressOfARequest(t *testing.T) {
	for _, test := range []struct {
		remote, forwarded string
		proxy             bool
		want              string
	}{
		{"192.0.2.1:1234", "", false, "192.0.2.1"},
		{"[::ffff:192.0.2.1]:1234", "", false, "192.0.2.1"},
		{"[2001:db8:1:2:3:4:5:6]:1", "", false, "2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:1", "", false, "fe80::/64"},
		{"@", "", false, ""},
		{"192.0.2.1:1234", "203.0.113.9", false, "192.0.2.1"},
		{"192.0.2.1:1234", "203.0.113.9", true, "203.0.113.9"},
		{"192.0.2.1:1234", "10.0.0.1, 203.0.113.9", true, "203.0.113.9"},
		{"192.0.2.1:1234", "203.0.113.9, junk", true, "192.0.2.1"},
		{"192.0.2.1:1234", "", true, "192.0.2.1"},
	} {
		r := &http.Request{RemoteAddr: test.remote, Header: http.Header{}}
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		a := admission{behindProxy: test.proxy}
		if got := a.address(r); got != test.want {
			t.Errorf("%+v: got %q, want %q", test, got, test.want)
		}
	}
}

// Behind a proxy the addresses on a unix socket are the proxy's clients, who may guess tokens.
func TestRate_limitsTheClientsOfAProxyOnASocket(t *testing.T) {
	for _, proxy := range []bool{false, true} {
		s := start(t, newFake(), &Options{Addr: "unix:/run/x", Rate: Rate{PerSecond: 0.5, Burst: 1}, BehindProxy: proxy, Tokens: tokens{"secret": "ci"}})
		guess := func(address string, status int) {
			t.Helper()
			r := s.request(t.Context(), "POST", "{}", headers{"X-Forwarded-For": address, "Authorization": "Bearer guess"})
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != status {
				t.Errorf("proxy %v: %s got %d, want %d", proxy, address, resp.StatusCode, status)
			}
		}
		guess("192.0.2.1", 401)
		guess("192.0.2.1", map[bool]int{false: 401, true: 429}[proxy])
		guess("192.0.2.2", 401)
	}
}
