package streamable

import (
	"reflect"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/identity"
)

// A request in a session has the roles of its own token: the one that began the session may have had more.
func TestWithin_rolesAreThoseOfTheRequest(t *testing.T) {
	s := &session{ctx: identity.WithRoles(t.Context(), identity.Roles{Groups: []string{"ops"}})}
	for _, want := range []identity.Roles{{}, {Scopes: []string{"read"}}} {
		x := &exchange{caller: caller{principal: "oauth:a|b", identity: identity.Of("oauth:a|b", want)}}
		got, ok := identity.RolesOf(x.within(s))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v, want %v", got, ok, want)
		}
	}
}
