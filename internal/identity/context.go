package identity

import "context"

type rolesKey struct{}

// WithRoles returns a context of one request whose caller has these roles, in place of those of its connection.
func WithRoles(ctx context.Context, r Roles) context.Context {
	return context.WithValue(ctx, rolesKey{}, r)
}

// RolesOf returns the roles of WithRoles; ok is false without them.
func RolesOf(ctx context.Context) (r Roles, ok bool) {
	r, ok = ctx.Value(rolesKey{}).(Roles)
	return r, ok
}
