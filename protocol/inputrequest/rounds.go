package inputrequest

import (
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// MaxRounds is the maximum number of rounds per call. Clients give up sooner.
const MaxRounds = 32

// maxKey is the maximum length of a plugin's question key, in bytes.
const maxKey = 64

// Rounds is the question state of one call.
type Rounds struct {
	// Count is the number of rounds so far.
	Count int
	// Given are answers sent ahead of their questions by clients that know the plugin's keys.
	Given jsonraw.Object
}

// Next starts a round and converts a plugin's questions for the client. complete reports whether none is left to
// ask: all were refused or already answered. Keys in used are not reused. The error means too many rounds.
func (r *Rounds) Next(round []runtime.Question, client Abilities, used []string) (list []Question, complete bool, err error) {
	if r.Count >= MaxRounds {
		return nil, false, &runtime.EndError{Kind: runtime.KindLimit, Message: fmt.Sprintf("the call asks more than %d times", MaxRounds)}
	}
	r.Count++
	keys := map[string]bool{}
	for _, key := range used {
		keys[key] = true
	}
	complete = true
	for i, q := range round {
		p := Question{Key: q.Key, Method: q.Method, Params: client.Fit(q, "")}
		named := validKey(q.Key) && !keys[q.Key]
		for n := i + 1; !named && (n == i+1 || keys[p.Key]); n += len(round) {
			p.Key = fmt.Sprintf("ask-%d-%d", r.Count, n)
		}
		keys[p.Key] = true
		if refused := client.Undeclared(q); refused != nil {
			p.Refused, p.Requires = refused.Message, refused.Requires
		} else if named {
			p.Answer = r.Given.Get(p.Key)
		}
		complete = complete && !p.Open()
		list = append(list, p)
	}
	return list, complete, nil
}

// validKey reports whether a plugin's question key may be sent to a client.
func validKey(key string) bool {
	for _, c := range []byte(key) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return key != "" && len(key) <= maxKey
}
