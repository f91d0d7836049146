package urlnorm_test

import (
	"net/url"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/urlnorm"
)

func TestURL_normalizes(t *testing.T) {
	tests := []struct{ raw, want string }{
		{"HTTP://Example.COM", "http://example.com/"},
		{"http://example.com:80/", "http://example.com/"},
		{"https://example.com:443/x#frag", "https://example.com/x"},
		{"https://example.com:80/", "https://example.com:80/"},
		{"https://example.com./", "https://example.com/"},
		{"https://a/b/../c/./d", "https://a/c/d"},
		{"https://a/../../b", "https://a/b"},
		{"https://a/b/..", "https://a/"},
		{"https://a/b/.", "https://a/b/"},
		{"https://a/%2e%2E/b", "https://a/b"},
		{"https://a/%7euser/%41", "https://a/~user/A"},
		{"https://a/x%2fy", "https://a/x%2Fy"},
		{"https://a/%2541", "https://a/%2541"},
		{"https://a/ü{x}", "https://a/%C3%BC%7Bx%7D"},
		{"https://a/?q=%41;b=%zz", "https://a/?q=A%3Bb=%25zz"},
		{"https://a//b//", "https://a//b//"},
		{"https://[::1]:443/", "https://[::1]/"},
		{"https://[0:0::1]/", "https://[::1]/"},
		{"https://a?x=1", "https://a/?x=1"},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.raw)
		if err == nil {
			u, err = urlnorm.URL(u)
		}
		if err != nil || u.String() != tt.want {
			t.Errorf("%s\n got %s, %v\nwant %s", tt.raw, u, err, tt.want)
		}
	}
}

func TestURL_refusesAmbiguousURLs(t *testing.T) {
	tests := []struct{ raw, want string }{
		{"ftp://a/", `scheme "ftp" is not allowed: use http or https`},
		{"/x", `scheme "" is not allowed: use http or https`},
		{"http:a", `scheme "http" is not allowed: use http or https`},
		{"http://u@a/", "user information in an address is not allowed: use a header"},
		{"http:///x", `host "" is not a name`},
		{"http://a:/", `port "" is not a number from 1 to 65535`},
		{"http://a:070/", `port "070" is not a number from 1 to 65535`},
		{"http://a:70000/", `port "70000" is not a number from 1 to 65535`},
		{"http://127.1/", `host "127.1" is not an address: write four decimal numbers`},
		{"http://0177.0.0.1/", `host "0177.0.0.1" is not an address: write four decimal numbers`},
		{"http://2130706433/", `host "2130706433" is not an address: write four decimal numbers`},
		{"http://a.0x7f/", `host "a.0x7f" is not an address: write four decimal numbers`},
		{"http://127.0.0.1../", `host "127.0.0.1." is not a name`},
		{"http://[fe80::1%25lo]/", `host "fe80::1%lo" is not an address`},
		{"http://é.example/", `host "é.example" is not ASCII: write it in its xn-- form`},
		{"http://a/x%2f..%2Fy", `path segment "x%2F..%2Fy" hides a dot segment`},
		{"http://a/..%5cx", `path segment "..%5Cx" hides a dot segment`},
		{"http://a/x/.%AD./y", `path segment ".%AD." hides a dot segment`},
		{"http://a/x/..%EF%B8%8F/y", `path segment "..%EF%B8%8F" hides a dot segment`},
		{"http://a/x/..::$DATA/y", `path segment "..::$DATA" hides a dot segment`},
		{"http://a/..;/x", `path segment "..;" hides a dot segment`},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.raw)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := urlnorm.URL(u); err == nil {
			t.Errorf("%s: accepted as %s", tt.raw, c)
		} else if err.Error() != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.raw, err, tt.want)
		}
	}
}

// URL is idempotent.
func FuzzURL(f *testing.F) {
	for _, raw := range []string{"HTTP://A.example:80/%7e/../b%2f?x=%41;y#z", "https://[::1]:1/..;/", "http://0x7f.1/", "http://a/%"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		once, err := urlnorm.URL(u)
		if err != nil {
			return
		}
		parsed, err := url.Parse(once.String())
		if err != nil {
			t.Fatalf("%q became %q: got %v, want no error", raw, once, err)
		}
		twice, err := urlnorm.URL(parsed)
		if err != nil || twice.String() != once.String() {
			t.Fatalf("%q became %q became %q: got %v, want no error", raw, once, twice, err)
		}
	})
}
