//go:build postgres

package streamable

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Mail of one caller that has to wait in the store holds up no other caller's. In SQLite a write holds up all.
func TestPool_mailOfOneCallerHoldsUpNoOther(t *testing.T) {
	hosts := poolHosts(t, 2, Options{Tokens: people})
	in, bobs := hosts[0].starts("a"), hosts[0].starts("b")
	hosts[0].notifies(bobs, "notifications/initialized", "{}")
	sender := hosts[0].h.sessions.peek(in["Mcp-Session-Id"])
	sender.notify([]byte(`"first"`))
	sender.mail.wait(t.Context())
	held, done := make(chan struct{}), make(chan struct{})
	var holding sync.WaitGroup
	var lost error // of the transaction, which the server ends when it has been idle for long
	holding.Go(func() {
		lost = hosts[1].kept.Change(context.Background(), store.Mail, sender.principal, nil, func(data [][]byte) ([][]byte, error) {
			close(held)
			<-done
			return data, nil
		})
	})
	free := sync.OnceFunc(func() { close(done); holding.Wait() })
	defer free()
	<-held
	hosts[0].opens(t.Context(), "GET", "", in) // takes the letter
	stream, question := hosts[0].asks(bobs)
	hosts[1].want("answer", "POST", answerBody(question, "bob"), bobs, 202, "")
	got := strings.Join(stream.rest(), "")
	if free(); lost != nil || !strings.Contains(got, "bob") {
		t.Errorf("got %s and the end %v of the transaction, want the answer while another caller's mail waits", got, lost)
	}
}
