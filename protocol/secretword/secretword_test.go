package secretword_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/secretword"
)

func TestIn(t *testing.T) {
	for text, want := range map[string]bool{
		"password": true, "apiKey": true, "api_key": true, "Your Passphrase": true, "the access token of GitHub": true, "PIN": true, "X-Api-Key": true,
		"card.number": true, "one time code": true, "Authorization token": true,
		"passenger": false, "pins the poster": false, "tokenize": false, "keyboard": false, "region": false, "": false,
	} {
		if secretword.In(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
