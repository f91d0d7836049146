package sallyport_test

import (
	"errors"
	"fmt"
	"testing"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// refusal is an error that is an AskError by its method As alone.
type refusal struct{}

func (refusal) Error() string { return "refused" }

func (refusal) As(target any) bool {
	a, ok := target.(**sallyport.AskError)
	if ok {
		*a = &sallyport.AskError{Kind: sallyport.KindLimit}
	}
	return ok
}

func TestKindOf_findsTheFirstRefusalOfATree(t *testing.T) {
	plain, denied, late := errors.New("plain"), &sallyport.AskError{Kind: sallyport.KindDenied}, &sallyport.AskError{Kind: sallyport.KindTimeout}
	for _, c := range []struct {
		err  error
		want sallyport.Kind
	}{
		{nil, ""}, {plain, ""}, {fmt.Errorf("x: %w", plain), ""}, {errors.Join(plain, plain), ""},
		{denied, sallyport.KindDenied}, {fmt.Errorf("x: %w", fmt.Errorf("y: %w", denied)), sallyport.KindDenied},
		{errors.Join(plain, late, denied), sallyport.KindTimeout},
		{fmt.Errorf("%w and %w", errors.Join(plain), fmt.Errorf("z: %w", denied)), sallyport.KindDenied},
		{fmt.Errorf("x: %w", refusal{}), sallyport.KindLimit},
	} {
		if got := sallyport.KindOf(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
