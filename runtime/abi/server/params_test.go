package server

import "testing"

// A server gets a progress token only if the caller gave one, and nothing else of its _meta.
func TestOwnParams_haveATokenOnlyIfTheCallerGaveOne(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"x","_meta":{"progressToken":"a"}}`:                    `{"name":"x","_meta":{"progressToken":"sallyport"}}`,
		`{"_meta":{"progressToken":7,"io.example/x":1},"name":"x"}`:     `{"_meta":{"progressToken":"sallyport"},"name":"x"}`,
		`{"name":"x","_meta":{"io.example/x":{"progressToken":"no"}}}`:  `{"name":"x","_meta":{}}`,
		`{"name":"x","_meta":{}}`:                                       `{"name":"x","_meta":{}}`,
		`{"name":"x"}`:                                                  `{"name":"x"}`,
		`{"name":"x","_meta":"progressToken"}`:                          `{"name":"x"}`,
		`{"name":"x","arguments":{"_meta":{"progressToken":"theirs"}}}`: `{"name":"x","arguments":{"_meta":{"progressToken":"theirs"}}}`,
		``: `{}`,
	} {
		if got := string(ownParams([]byte(params))); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
}
