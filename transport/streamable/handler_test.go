package streamable

import (
	"maps"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol"
)

// TestHandler_answersEachFaultWithItsStatus sends requests with a single fault each.
func TestHandler_answersEachFaultWithItsStatus(t *testing.T) {
	o := &Options{Tokens: tokens{"secret": "ci"}, MaxMessage: 2000, Origins: []string{"https://App.example.com:443"}}
	s := start(t, newFake(), o)
	long := callBody("echo", strings.Repeat("x", 2000))
	const bearer = "Bearer secret"
	for _, test := range []struct {
		name, body string
		extra      headers
		status     int
		want       string
	}{
		{"nothing", "", nil, 200, okBody},
		{"scheme in lower case", "", headers{"Authorization": "bearer  secret"}, 200, okBody},
		{"charset", "", headers{"Content-Type": "application/json; charset=UTF-8"}, 200, okBody},
		{"accept all", "", headers{"Accept": "*/*"}, 200, okBody},
		{"accept with quality", "", headers{"Accept": "text/*;q=0.2,application/json;q=1"}, 200, okBody},
		{"allowed origin", "", headers{"Origin": "https://app.example.com"}, 200, okBody},
		{"origin of this machine", "", headers{"Origin": "http://localhost:6274"}, 200, okBody},
		{"origin by address", "", headers{"Origin": "http://[::1]:3000"}, 200, okBody},
		{"host localhost", "", headers{"Host": "LocalHost:1"}, 200, okBody},
		{"host ::1", "", headers{"Host": "[::1]"}, 200, okBody},

		{"origin", "", headers{"Origin": "https://evil.example"}, 403, refused(`origin "https://evil.example" is not allowed (http.origins)`)},
		{"origin null", "", headers{"Origin": "null"}, 403, refused(`origin "null" is not allowed (http.origins)`)},
		{"origin that looks local", "", headers{"Origin": "http://localhost.evil.example"}, 403, refused(`origin "http://localhost.evil.example" is not allowed (http.origins)`)},
		{"origin with user", "", headers{"Origin": "http://localhost@evil.example"}, 403, refused(`origin "http://localhost@evil.example" is not allowed (http.origins)`)},
		{"origin of other scheme", "", headers{"Origin": "http://app.example.com"}, 403, refused(`origin "http://app.example.com" is not allowed (http.origins)`)},
		{"two origins", "", headers{"Origin": "https://app.example.com\nhttps://app.example.com"}, 403, refused(`origin "https://app.example.com" is not allowed (http.origins)`)},
		{"host", "", headers{"Host": "rebound.example:80"}, 403, refused(`host "rebound.example:80" is not this machine`)},
		{"host with local prefix", "", headers{"Host": "127.0.0.1.evil.example"}, 403, refused(`host "127.0.0.1.evil.example" is not this machine`)},

		{"no token", "", headers{"Authorization": "-"}, 401, refused(noToken)},
		{"other scheme", "", headers{"Authorization": "Basic c2VjcmV0"}, 401, refused(noToken)},
		{"wrong token", "", headers{"Authorization": "Bearer wrong"}, 401, refused(unknownToken)},
		{"empty token", "", headers{"Authorization": "Bearer "}, 401, refused(unknownToken)},
		{"two tokens", "", headers{"Authorization": bearer + "\n" + bearer}, 400, refused("more than one Authorization header")},

		{"no type", "", headers{"Content-Type": "-"}, 415, refused("Content-Type must be application/json")},
		{"text", "", headers{"Content-Type": "text/plain"}, 415, refused("Content-Type must be application/json")},
		{"form", "", headers{"Content-Type": "application/x-www-form-urlencoded"}, 415, refused("Content-Type must be application/json")},
		{"two types", "", headers{"Content-Type": "application/json\ntext/plain"}, 415, refused("Content-Type must be application/json")},
		{"latin1", "", headers{"Content-Type": "application/json; charset=latin1"}, 415, refused("the charset must be utf-8")},
		{"gzip", "", headers{"Content-Encoding": "gzip"}, 415, refused("a body with a Content-Encoding is not read")},
		{"accept only json", "", headers{"Accept": "application/json"}, 406, refused("Accept must allow application/json and text/event-stream")},
		{"accept html", "", headers{"Accept": "text/html"}, 406, refused("Accept must allow application/json and text/event-stream")},
		{"accept not events", "", headers{"Accept": "*/*, text/event-stream;q=0.0"}, 406, refused("Accept must allow application/json and text/event-stream")},

		{"too large", long, nil, 413, refused("the message is over the limit of 2000 bytes")},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat("[", 700) + strings.Repeat("]", 700) + `}`, nil, 400, ""},
		{"not json", `{"jsonrpc"`, nil, 400, ""},
		{"empty", " ", nil, 400, ""},
		{"not an object", `"x"`, nil, 400, unreadable("invalid request: a message must be an object")},
		{"bad id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, unreadable("invalid request: id must be a string or an integer")},
		{"bad version", `{"jsonrpc":"1.0","id":"a","method":"ping"}`, nil, 400, errorBody(`"a"`, -32600, `invalid request: jsonrpc must be "2.0"`)},
		{"batch", "[" + modernBody("tools/list", "") + "]", nil, 400, refused("a batch needs a session of protocol version 2025-03-26")},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, errorBody("1", -32600, "a response, but nothing was asked")},
		{"method not found", modernBody("tools/none", ""), headers{"Mcp-Method": "tools/none"}, 404, errorBody("1", -32601, "no")},
	} {
		extra := modernHeaders("tools/list", "", headers{"Authorization": bearer})
		maps.Copy(extra, test.extra)
		body := test.body
		if body == "" {
			body = modernBody("tools/list", "")
		}
		response, got := s.do("POST", body, extra)
		if response.StatusCode != test.status || test.want != "" && got != test.want {
			t.Errorf("%s:\ngot  %d %s\nwant %d %s", test.name, response.StatusCode, got, test.status, test.want)
		}
		if test.want == "" && !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error`) {
			t.Errorf("%s: got %s", test.name, got)
		}
		if kind := response.Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s: Content-Type %q", test.name, kind)
		}
	}
	s.want("the next call still works", "POST", callBody("echo", "hi"), modernHeaders("tools/call", "echo", headers{"Authorization": bearer}),
		200, `{"jsonrpc":"2.0","id":1,"result":"hi"}`)
}

// TestHandler_answersWithTheFirstFault removes one fault after the other: the first failing check is the response.
func TestHandler_answersWithTheFirstFault(t *testing.T) {
	f := newFake()
	f.params = []protocol.HeaderParam{{Header: "Text", Path: []string{"text"}, Type: "string"}}
	s := start(t, f, &Options{Tokens: tokens{"secret": "ci"}, MaxMessage: 1000})
	extra := headers{
		"Origin": "https://evil.example", "Host": "evil.example", "Content-Type": "text/plain", "Accept": "text/html",
	}
	body := strings.Repeat("[", 1001)
	steps := []struct {
		status int
		want   string
		mend   func()
	}{
		{403, refused(`origin "https://evil.example" is not allowed (http.origins)`), func() { delete(extra, "Origin") }},
		{403, refused(`host "evil.example" is not this machine`), func() { delete(extra, "Host") }},
		{401, refused(noToken), func() { extra["Authorization"] = "Bearer secret" }},
		{415, refused("Content-Type must be application/json"), func() { delete(extra, "Content-Type") }},
		{406, refused("Accept must allow application/json and text/event-stream"), func() { delete(extra, "Accept") }},
		{413, refused("the message is over the limit of 1000 bytes"), func() { body = `[{]` }},
		{400, refused("a batch needs a session of protocol version 2025-03-26"), func() { body = `{"jsonrpc":` }},
		{400, errorBody("null", -32700, "parse error: json: unexpected end at offset 11"), func() {
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`
		}},
		{400, errorBody("1", -32020, "the MCP-Protocol-Version header is missing"), func() { extra["Mcp-Protocol-Version"] = "2098-01-01" }},
		{400, errorBody("1", -32020, `the MCP-Protocol-Version header says "2098-01-01", the body "2099-01-01"`), func() { extra["Mcp-Protocol-Version"] = "2099-01-01" }},
		{400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2099-01-01"}}}`, func() {
			extra["Mcp-Protocol-Version"] = "2026-07-28"
			body = strings.Replace(body, "2099-01-01", "2026-07-28", 1)
		}},
		{400, errorBody("1", -32602, `params._meta needs "io.modelcontextprotocol/clientCapabilities", an object`), func() { body = callBody("echo", "a") }},
		{400, errorBody("1", -32020, "the Mcp-Method header is missing"), func() { extra["Mcp-Method"] = "TOOLS/CALL" }},
		{400, errorBody("1", -32020, `the Mcp-Method header says "TOOLS/CALL", the body "tools/call"`), func() { extra["Mcp-Method"] = "tools/call" }},
		{400, errorBody("1", -32020, "the Mcp-Name header is missing"), func() { extra["Mcp-Name"] = "other" }},
		{400, errorBody("1", -32020, `the Mcp-Name header says "other", params.name "echo"`), func() { extra["Mcp-Name"] = "=?base64?ZWNobw==?=" }},
		{400, errorBody("1", -32020, "the Mcp-Param-Text header is missing, and the argument text has a value"), func() { extra["Mcp-Param-Text"] = "b" }},
		{400, errorBody("1", -32020, "the Mcp-Param-Text header and the argument text differ"), func() { extra["Mcp-Param-Text"] = "a" }},
		{200, `{"jsonrpc":"2.0","id":1,"result":"a"}`, func() {}},
	}
	for _, step := range steps {
		s.want("", "POST", body, extra, step.status, step.want)
		step.mend()
	}
}

func TestHandler_refusesOtherMethods(t *testing.T) {
	s := start(t, newFake(), nil)
	for _, method := range []string{"GET", "PUT", "PATCH", "OPTIONS"} {
		why := " is not served"
		if method == "GET" { // the Allow header includes it
			why = " is served within a session of an older protocol version only"
		}
		r := s.want(method, method, "", nil, 405, refused("method "+method+why))
		if allow := r.Header.Get("Allow"); allow != "POST, GET, DELETE" {
			t.Errorf("%s: Allow %q", method, allow)
		}
	}
	s.want("modern DELETE", "DELETE", "", headers{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Session-Id": "x"}, 405, refused("method DELETE is served within a session of an older protocol version only"))
	s.url = strings.TrimSuffix(s.url, "/mcp") + "/other"
	s.want("other path", "POST", "{}", nil, 404, refused("there is nothing here: the endpoint is /mcp"))
	s.want("other path of an evil page", "POST", "{}", headers{"Origin": "http://evil"}, 403, refused(`origin "http://evil" is not allowed (http.origins)`))
}

func TestHandler_answersPreflightOfAllowedOrigins(t *testing.T) {
	s := start(t, newFake(), &Options{Origins: []string{"https://app.example.com"}, Tokens: tokens{}})
	r := s.want("preflight", "OPTIONS", "", headers{
		"Origin":                         "https://app.example.com",
		"Access-Control-Request-Method":  "POST",
		"Access-Control-Request-Headers": "authorization,Content-Type, mcp-param-region,cookie,mcp-bad name,mcp-a;b,x-other",
	}, 204, "")
	for key, want := range map[string]string{
		"Access-Control-Allow-Origin":  "https://app.example.com",
		"Access-Control-Allow-Methods": "POST, GET, DELETE",
		"Access-Control-Allow-Headers": "authorization, content-type, mcp-param-region",
		"Access-Control-Max-Age":       "600",
		"Vary":                         "Origin",
	} {
		if got := r.Header.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	r = s.want("evil preflight", "OPTIONS", "", headers{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"},
		403, refused(`origin "https://evil.example" is not allowed (http.origins)`))
	if got := r.Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("an evil page is allowed as %q", got)
	}
	r = s.want("error to a page", "POST", "", headers{"Origin": "https://app.example.com"}, 401, refused(noToken))
	if r.Header.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") {
		t.Errorf("the page cannot read the answer: %v", r.Header)
	}
}

func TestHandler_challengesCallersWithoutAToken(t *testing.T) {
	f := newFake()
	s := start(t, f, &Options{Tokens: tokens{"secret": "ci"}})
	for extra, want := range map[string]string{"-": `Bearer realm="sallyport"`, "Bearer x": `Bearer realm="sallyport", error="invalid_token"`} {
		r, _ := s.do("POST", "{}", headers{"Authorization": extra})
		if got := r.Header.Get("Www-Authenticate"); r.StatusCode != 401 || got != want {
			t.Errorf("%q: %d, WWW-Authenticate %q, want %q", extra, r.StatusCode, got, want)
		}
	}
	s.url += "?access_token=secret&token=secret"
	s.want("token in the query", "POST", "{}", nil, 401, refused(noToken))
	s.want("token in the header", "POST", modernBody("tools/list", ""), modernHeaders("tools/list", "", headers{"Authorization": "Bearer secret"}), 200, okBody)
	if got := f.principal(); got != "token:ci" {
		t.Errorf("principal %q", got)
	}
}

// TestHandler_leavesTheHostToTheProxy leaves the check of the host name to the proxy.
func TestHandler_leavesTheHostToTheProxy(t *testing.T) {
	s := start(t, newFake(), &Options{BehindProxy: true, Tokens: tokens{"secret": "ci"}})
	extra := modernHeaders("tools/list", "", headers{"Authorization": "Bearer secret", "Host": "mcp.example.com"})
	s.want("host", "POST", modernBody("tools/list", ""), extra, 200, okBody)
	extra["Origin"] = "http://localhost:3000"
	s.want("origin", "POST", modernBody("tools/list", ""), extra, 403, refused(`origin "http://localhost:3000" is not allowed (http.origins)`))
}
