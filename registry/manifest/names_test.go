package manifest

import (
	"strings"
	"testing"
)

func TestNameOfFile_normalizes(t *testing.T) {
	for path, want := range map[string]string{
		"/a/github.wasm": "github", "my-tool.wasm": "my_tool", "a  b--c.wasm": "a_b_c", "-x-.wasm": "x",
		"time.v2.wasm": "time_v2", "größe.wasm": "gro_e_d353a2", "A1.WASM": "A1",
		"ünï.wasm": "uni", "u\u0308ni\u0308.wasm": "uni", "漢字.wasm": "plugin_c6d297", "x漢語.wasm": "x_4d2616",
	} {
		if got, err := NameOfFile(path); err != nil || got != want {
			t.Errorf("OfFile(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"---.wasm", "\u0308.wasm", "sallyport.wasm", "Sallyport.wasm", "-sallyport.wasm"} {
		if got, err := NameOfFile(path); err == nil {
			t.Errorf("NameOfFile(%q): got %q, want an error", path, got)
		}
	}
	long, err := NameOfFile(strings.Repeat("abc_", 30) + ".wasm")
	other, _ := NameOfFile(strings.Repeat("abc_", 30) + "x.wasm")
	if err != nil || len(long) > maxPluginName || CheckName(long) != nil || long == other {
		t.Errorf("got %q %q %v, want len(long) at most maxPluginName, CheckName(long) = nil, long not %v", long, other, err, other)
	}
}

func TestCheckName_refusesBadNames(t *testing.T) {
	for _, name := range []string{"", "a-b", "a__b", "_a", "a_", "a.b", "a b", "sallyport", "SallyPort", strings.Repeat("a", 41), "ä"} {
		if CheckName(name) == nil {
			t.Errorf("%q: got no error, want one", name)
		}
	}
	for _, name := range []string{"a", "A1_b2", strings.Repeat("a", 40)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
}

func TestPublicName_prefixes(t *testing.T) {
	for _, c := range []struct {
		local        string
		prefix, want string
	}{
		{"get_issue", "p-get_issue", "get_issue"},
		{"files/read.all", "p-files_read_all", "files/read.all"},
		{"a b:c", "p-a_b_c", "a_b_c"},
		{"größe", "p-gr__e", "gr__e"},
		{"a-b", "p-a-b", "a-b"},
	} {
		if got := PublicName("p", c.local, true); got != c.prefix {
			t.Errorf("%q: %q, want %q", c.local, got, c.prefix)
		}
		if got := PublicName("p", c.local, false); got != c.want {
			t.Errorf("%q: %q, want %q", c.local, got, c.want)
		}
	}
}

func TestPublicName_cutsLongNames(t *testing.T) {
	long := strings.Repeat("x", 64)
	if got := PublicName("p", long, false); got != long {
		t.Errorf("64 characters: got %q, want %q", got, long)
	}
	a, b := PublicName("p", long, true), PublicName("p", long+"y", true)
	for _, got := range []string{a, b} {
		if len(got) != 64 || got[57] != '_' || strings.Trim(got[58:], "0123456789abcdef") != "" || !strings.HasPrefix(got, "p-xxx") {
			t.Errorf("got %q, want 64 characters with a digest at the end", got)
		}
	}
	if a == b {
		t.Errorf("got %q for two names, want two names", a)
	}
	if again := PublicName("p", long, true); again != a {
		t.Errorf("second time: got %q, want %q", again, a)
	}
}
