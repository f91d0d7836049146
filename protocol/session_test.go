package protocol

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// A new session is always fresh: for methods that cannot ask, requestState does not refer to an existing one.
func TestFindSession_beginsAFreshSession(t *testing.T) {
	server := &Server{}
	meta := envelope.ReadMeta(json.RawMessage(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","dev.sallyport/session":"new"}`))
	server.sessions = envelope.NewSessions(time.Now)
	for _, method := range []string{"completion/complete", "resources/list"} {
		found := map[string]bool{}
		for _, who := range []string{"ada", "eve"} {
			conn := &Conn{server: server, opts: ConnOptions{Principal: who}}
			r := newRequest(conn, envelope.Call{Method: method, Params: json.RawMessage(`{"requestState":"x"}`), Meta: meta}, nil)
			if err := r.findSession(); err != nil || r.session == newSession || found[r.session] {
				t.Errorf("%s of %s: got session %q, %v, want a fresh one", method, who, r.session, err)
			}
			found[r.session] = true
		}
	}
}
