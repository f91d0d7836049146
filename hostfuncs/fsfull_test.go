package hostfuncs_test

import (
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

// TestFS_reachedLimitIsDeniedOnce checks that reaching a write limit is denied once per limit, with the option that
// would suffice.
func TestFS_reachedLimitIsDeniedOnce(t *testing.T) {
	home := world(t)
	g, tr := filesOf(t, hostfuncs.Options{Home: home}, "fs: write ~/work/** {quota: 10B, files: 2}")
	if e := writeFile(tr, home+"/work/one", "1234567"); e != 0 {
		t.Fatalf("got errno %v, want success", e)
	}
	for range 2 {
		if e := writeFile(tr, home+"/work/two", "123456"); e != wasi.ENOSPC {
			t.Errorf("13 of 10 bytes: got %v, want %v", e, wasi.ENOSPC)
		}
	}
	if e := writeFile(tr, home+"/work/three", ""); e != wasi.ENOSPC {
		t.Errorf("3 of 2 files: got %v, want %v", e, wasi.ENOSPC)
	}
	var got []string
	for _, d := range g.Denials() {
		got = append(got, d.Reason+" | "+d.Hint)
	}
	want := []string{
		`plugin "demo" may not write ~/work/two: fs quota full: 7 of 10 bytes under a grant | quota: 16B as an option of a grant`,
		`plugin "demo" may not write ~/work/three: fs quota full: 2 of 2 files under a grant | files: 4 as an option of a grant`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
