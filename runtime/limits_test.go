package runtime_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/runtime"
)

func TestLimits_withDefaultsFillsZeroFields(t *testing.T) {
	want := runtime.Limits{Memory: 64 << 20, Deadline: 30 * time.Second, Task: time.Hour, Output: 256 << 10, Concurrency: runtime.DefaultConcurrency(), Queue: 1024, Wait: 30 * time.Second, Start: 10 * time.Second,
		Ask: 10 * time.Minute}
	if got := (runtime.Limits{}).WithDefaults(); got != want || got.WithDefaults() != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got := runtime.Limits{Memory: 1 << 40, Concurrency: 2, Queue: -1}.WithDefaults()
	if got.Memory != 65535<<16 || got.Concurrency != 2 || got.Queue != -1 || got.WithDefaults() != got {
		t.Errorf("got %+v, want 65535 pages, concurrency 2, queue -1", got)
	}
	if got := (runtime.Limits{Concurrency: -3}).WithDefaults(); got.Concurrency != 1 || got.Queue != 1024 {
		t.Errorf("got %+v, want concurrency 1, queue 1024", got)
	}
}

// Or fills every zero field, and no other.
func TestLimits_orFillsZeroFields(t *testing.T) {
	var one, two runtime.Limits
	for l, n := range map[*runtime.Limits]int64{&one: 1, &two: 2} {
		v := reflect.ValueOf(l).Elem()
		for i := range v.NumField() {
			v.Field(i).Set(reflect.ValueOf(n).Convert(v.Field(i).Type()))
		}
	}
	if got := (runtime.Limits{}).Or(one); got != one {
		t.Errorf("got %+v, want %+v", got, one)
	}
	if got := two.Or(one); got != two {
		t.Errorf("got %+v, want %+v", got, two)
	}
}
