package hostfuncs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// listens is a client that counts the intents of a call.
type listens struct {
	hostfuncs.Client
	intended []string
}

func (l *listens) Intends(what string) error { l.intended = append(l.intended, what); return nil }
func (l *listens) Recants(string)            { l.intended = l.intended[:len(l.intended)-1] }

// A commit of keys whose outcome is not known is told as such, and stays an intent, so that no repetition of the call does
// it again. One that was refused does not.
func TestLand_tellsThatACommitOfKeysIsUnknown(t *testing.T) {
	for lost, want := range map[error]string{
		errors.Join(store.ErrUnavailable, store.ErrUnknown): "whether they were kept is not known",
		store.ErrUnavailable: "nothing was written",
	} {
		kept := store.New(store.Options{Dir: t.TempDir(), Reached: func(step string) error {
			if step == "committed" {
				return lost
			}
			return nil
		}})
		defer kept.Close()
		h := hostfuncs.NewHost(&hostfuncs.Options{Store: kept, State: t.TempDir()})
		defer h.Close()
		client := &listens{}
		g := h.Plugin(hostfuncs.Plugin{Name: "demo", Grants: mustSet(t, "kv: 1KiB")}).NewGate(hostfuncs.Call{ID: "c", Principal: "stdio:1", Client: client})
		defer g.Close()
		ask(t, g, "kv/set", `{"key":"k","value":1}`)
		err := g.Land(t.Context())
		var end *runtime.EndError
		if unknown := errors.Is(lost, store.ErrUnknown); !errors.As(err, &end) || (end.Kind == runtime.KindUnknown) != unknown || !strings.Contains(err.Error(), want) || (len(client.intended) == 1) != unknown {
			t.Errorf("%v: got %v, intents %v, want %q", lost, err, client.intended, want)
		}
	}
}
