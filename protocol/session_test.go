package protocol

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/protocol/session"
)

// A session that begins is one of its own, whatever else the request says: of what is no call that asks, nothing brings
// a session along.
func TestFindSession_isItsOwn(t *testing.T) {
	server := &Server{}
	server.sessions = session.NewBook(time.Now)
	for _, method := range []string{"completion/complete", "resources/list"} {
		found := map[string]bool{}
		for _, who := range []string{"ada", "eve"} {
			r := &request{
				conn: &Conn{opts: ConnOptions{Principal: who}}, server: server, method: method, modern: true,
				params: json.RawMessage(`{"requestState":"x","_meta":{"dev.sallyport/session":"new"}}`),
			}
			if err := r.findSession(); err != nil || r.session == newSession || found[r.session] {
				t.Errorf("%s of %s: session %q, %v", method, who, r.session, err)
			}
			found[r.session] = true
		}
	}
}
