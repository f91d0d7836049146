package streamable

import "testing"

func TestOptions_checkRefusesUnsafeListeners(t *testing.T) {
	some := tokens{"secret": "ci"}
	const reach = " can be reached from other machines: add "
	for _, test := range []struct {
		name string
		o    *Options
		want string // "" is no error
	}{
		{"nil", nil, ""},
		{"zero", &Options{}, ""},
		{"loopback", &Options{Addr: "127.0.0.1:0"}, ""},
		{"loopback 2", &Options{Addr: "127.8.8.8:1"}, ""},
		{"ipv6 loopback", &Options{Addr: "[::1]:8470"}, ""},
		{"mapped loopback", &Options{Addr: "[::ffff:127.0.0.1]:8470"}, ""},
		{"localhost", &Options{Addr: "localhost:8470"}, ""},
		{"loopback with TLS", &Options{Addr: "localhost:8470", TLSCert: "c", TLSKey: "k"}, ""},
		{"socket", &Options{Addr: "unix:/run/x"}, ""},
		{"all with TLS", &Options{Addr: ":8470", Tokens: some, TLSCert: "c", TLSKey: "k"}, ""},
		{"all behind proxy", &Options{Addr: "0.0.0.0:8470", Tokens: some, BehindProxy: true}, ""},
		{"loopback behind proxy", &Options{BehindProxy: true, Tokens: some}, ""},
		{"socket behind proxy", &Options{Addr: "unix:/run/x", BehindProxy: true, Tokens: some}, ""},
		{"origins", &Options{Origins: []string{"https://app.example.com", "http://[::1]:3000"}}, ""},

		{"all", &Options{Addr: ":8470"}, ":8470" + reach + "tokens (sallyport token NAME), and --tls-cert and --tls-key, or --behind-proxy; or listen on 127.0.0.1:8470"},
		{"all with tokens", &Options{Addr: "0.0.0.0:80", Tokens: some}, "0.0.0.0:80" + reach + "--tls-cert and --tls-key, or --behind-proxy; or listen on 127.0.0.1:80"},
		{"all with TLS only", &Options{Addr: "[::]:80", TLSCert: "c", TLSKey: "k"}, "[::]:80" + reach + "tokens (sallyport token NAME); or listen on 127.0.0.1:80"},
		{"a name", &Options{Addr: "mcp.example.com:80", BehindProxy: true}, "mcp.example.com:80" + reach + "tokens (sallyport token NAME); or listen on 127.0.0.1:80"},
		{"a name that begins like loopback", &Options{Addr: "127.0.0.1.example.com:80", Tokens: some}, "127.0.0.1.example.com:80" + reach + "--tls-cert and --tls-key, or --behind-proxy; or listen on 127.0.0.1:80"},
		{"a private address", &Options{Addr: "192.168.0.2:80", Tokens: some}, "192.168.0.2:80" + reach + "--tls-cert and --tls-key, or --behind-proxy; or listen on 127.0.0.1:80"},
		{"proxy without tokens", &Options{BehindProxy: true}, "127.0.0.1:8470 behind a proxy can be reached from other machines: add tokens (sallyport token NAME)"},
		{"socket and proxy without tokens", &Options{Addr: "unix:/run/x", BehindProxy: true}, "unix:/run/x behind a proxy can be reached from other machines: add tokens (sallyport token NAME)"},

		{"no port", &Options{Addr: "127.0.0.1"}, `the address "127.0.0.1" is neither HOST:PORT, such as 127.0.0.1:8470, nor unix:/PATH`},
		{"empty port", &Options{Addr: "127.0.0.1:"}, `the address "127.0.0.1:" is neither HOST:PORT, such as 127.0.0.1:8470, nor unix:/PATH`},
		{"a URL", &Options{Addr: "http://127.0.0.1:80"}, `the address "http://127.0.0.1:80" is neither HOST:PORT, such as 127.0.0.1:8470, nor unix:/PATH`},
		{"no socket", &Options{Addr: "unix:"}, `the address "unix:" names no socket: write unix:/PATH`},
		{"socket with TLS", &Options{Addr: "unix:/x", TLSCert: "c", TLSKey: "k"}, "a unix socket has no TLS: leave --tls-cert and --tls-key out"},
		{"half TLS", &Options{TLSCert: "c"}, "TLS needs both --tls-cert and --tls-key"},
		{"path", &Options{Path: "mcp"}, `the path "mcp" must begin with a slash`},
		{"origin star", &Options{Origins: []string{"*"}}, `the origin "*" is not of the form https://app.example.com`},
		{"origin with path", &Options{Origins: []string{"https://a.example/"}}, `the origin "https://a.example/" is not of the form https://app.example.com`},
		{"origin null", &Options{Origins: []string{"null"}}, `the origin "null" is not of the form https://app.example.com`},
		{"origin scheme", &Options{Origins: []string{"ftp://a.example"}}, `the origin "ftp://a.example" is not of the form https://app.example.com`},
	} {
		got := ""
		if err := test.o.Check(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestOptions_localMeansThisMachineOnly(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want bool
	}{
		{Options{}, true},
		{Options{Addr: "[::1]:0"}, true},
		{Options{Addr: "unix:/x"}, true},
		{Options{Addr: ":8470"}, false},
		{Options{Addr: "nonsense"}, false},
		{Options{BehindProxy: true}, false},
		{Options{Addr: "unix:/x", BehindProxy: true}, false},
	} {
		if got := test.o.Local(); got != test.want {
			t.Errorf("%+v: got %v, want %v", test.o, got, test.want)
		}
	}
}

func TestOptions_rateHasDefaults(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want Rate
	}{
		{Options{}, Rate{-1, 1}},
		{Options{Addr: "unix:/x"}, Rate{-1, 1}},
		{Options{Addr: ":80"}, Rate{50, 200}},
		{Options{BehindProxy: true}, Rate{50, 200}},
		{Options{Rate: Rate{PerSecond: 3}}, Rate{3, 12}},
		{Options{Rate: Rate{PerSecond: 0.1}}, Rate{0.1, 1}},
		{Options{Addr: ":80", Rate: Rate{PerSecond: -1}}, Rate{-1, 1}},
		{Options{Addr: ":80", Rate: Rate{Burst: 7}}, Rate{50, 7}},
	} {
		if got := test.o.withDefaults().Rate; got != test.want {
			t.Errorf("%+v: got %v, want %v", test.o, got, test.want)
		}
	}
}

func FuzzNormalOrigin(f *testing.F) {
	for _, s := range []string{"https://a.example", "http://localhost:80", "http://[::1]:1", "null", "https://u@h", "http://a#", "http://%61"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if origin := normalOrigin(s); origin != "" && normalOrigin(origin) != origin {
			t.Errorf("%q becomes %q, and that %q", s, origin, normalOrigin(origin))
		}
	})
}
