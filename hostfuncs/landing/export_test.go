package landing

import "context"

// WithHook has f called with how far a landing is: prepared, committed, half.
func WithHook(ctx context.Context, f func(string)) context.Context {
	return context.WithValue(ctx, hookKey{}, f)
}
