package auth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// SHA-256 of "password"
const example = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"

func TestParse_readsNamesAndHashes(t *testing.T) {
	set, err := Parse(strings.NewReader("# comment\n\n  ci-runner : " + example + " \r\nlaptop:" + strings.ToUpper(example[:63]) + "0"))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.list) != 2 || set.list[1].name != "laptop" {
		t.Errorf("got %v, want ci-runner and laptop", set.list)
	}
	if name, _, ok := set.Verify("password"); name != "ci-runner" || !ok {
		t.Errorf("Verify: got %q, %v; want ci-runner, true", name, ok)
	}
	for _, wrong := range []string{"", "Password", "password ", example, strings.Repeat("x", 600)} {
		if name, _, ok := set.Verify(wrong); ok || name != "" {
			t.Errorf("Verify(%q): got %q, %v; want no name, false", wrong, name, ok)
		}
	}
}

func TestParse_namesTheFaultOfALine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"ci", `line 1: want name:hash`},
		{"\nci:" + example[1:], `line 2: the hash of "ci" must be 64 hexadecimal digits`},
		{"ci:" + example + "00", `line 1: the hash of "ci" must be 64 hexadecimal digits`},
		{"ci:" + example[:63] + "g", `line 1: the hash of "ci" must be 64 hexadecimal digits`},
		{":" + example, `line 1: the name of a token has 1 to 64 characters`},
		{strings.Repeat("n", 65) + ":" + example, `line 1: the name of a token has 1 to 64 characters`},
		{"a b:" + example, `line 1: the name "a b" may hold only letters, digits and . _ -`},
		{"ü:" + example, `line 1: the name "ü" may hold only letters, digits and . _ -`},
		{"a:" + example + "\n#\na:" + example, `line 3: "a": there is a token of this name already`},
	}
	for _, test := range tests {
		if _, err := Parse(strings.NewReader(test.in)); err == nil || err.Error() != test.want {
			t.Errorf("%.20q: got %v, want %s", test.in, err, test.want)
		}
	}
}

func TestTokens_nilAdmitsNoCaller(t *testing.T) {
	var none *Tokens
	if _, _, ok := none.Verify("x"); ok {
		t.Error("nil set: Verify = true, want false")
	}
	one, err := none.With("a", "x")
	if name, _, ok := one.Verify("x"); err != nil || !ok || name != "a" {
		t.Errorf("got %q, %v, %v; want \"a\", true, no error", name, ok, err)
	}
}

func TestTokens_withLeavesTheOldSetUnchanged(t *testing.T) {
	base, _ := (*Tokens)(nil).With("a", "1")
	left, _ := base.With("b", "2")
	right, _ := base.With("c", "3")
	if _, _, ok := left.Verify("3"); ok {
		t.Error("left.Verify of right's token = true, want false")
	}
	if _, _, ok := right.Verify("3"); !ok || len(base.list) != 1 {
		t.Errorf("got right.Verify %v, %d tokens of base; want true, 1", ok, len(base.list))
	}
	if _, err := left.With("a", "9"); !errors.Is(err, ErrDuplicate) {
		t.Errorf("got %v, want %v", err, ErrDuplicate)
	}
}

func TestNew_returnsDistinctTokens(t *testing.T) {
	shape := regexp.MustCompile(`^sp_[A-Za-z0-9_-]{43}$`)
	if a, b := New(), New(); a == b || !shape.MatchString(a) {
		t.Errorf("got tokens %q and %q, want two different ones of shape %s", a, b, shape)
	}
}

func TestAdd_storesOnlyTheHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "tokens")
	first, err := Add(path, "one")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	os.WriteFile(path, []byte(strings.TrimSpace(string(data))), 0o600) // as from an editor that omits the last line end
	second, err := Add(path, "two")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Add(path, "two"); !errors.Is(err, ErrDuplicate) {
		t.Errorf("got %v, want %v", err, ErrDuplicate)
	}
	set, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"one": first, "two": second} {
		if got, _, ok := set.Verify(token); got != name || !ok {
			t.Errorf("%s: got %q, %v; want %q, true", name, got, ok, name)
		}
	}
	if data, _ := os.ReadFile(path); strings.Contains(string(data), first) {
		t.Errorf("got file %s, want it without the token %s", data, first)
	}
	wantMode(t, path)
}

func wantMode(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got file %+v, %v; want mode 0600", info, err)
	}
}

func TestLoad_refusesFilesOpenToOthersOrTooLarge(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	os.WriteFile(open, []byte("a:"+example), 0o640)
	os.Chmod(open, 0o640)
	big := filepath.Join(dir, "big")
	os.WriteFile(big, make([]byte, maxFile+1), 0o600)
	bad := filepath.Join(dir, "bad")
	os.WriteFile(bad, []byte("a"), 0o600)
	for path, want := range map[string]string{
		open: fmt.Sprintf("%q is open to other users (mode 0640): chmod 600 it", open),
		big:  fmt.Sprintf("%q is larger than 1048576 bytes", big),
		dir:  fmt.Sprintf("%q is not a regular file", dir),
		bad:  fmt.Sprintf("tokens file %q: line 1: want name:hash", bad),
	} {
		if _, err := Load(path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

func TestLocal_createsATokenOnceAndReturnsItAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "token")
	token, created, err := Local(path)
	if err != nil || !created || len(token) != 46 {
		t.Fatalf("got %q, created %v, %v; want 46 characters, true, no error", token, created, err)
	}
	again, created, err := Local(path)
	if err != nil || created || again != token {
		t.Errorf("got %q, %v, %v; want %q, false, no error", again, created, err, token)
	}
	wantMode(t, path)
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("got files %v, want only the token", left)
	}
}

func TestLocal_refusesADamagedToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for _, content := range []string{"", "short\n", strings.Repeat("x", 20) + " " + strings.Repeat("y", 20)} {
		os.WriteFile(path, []byte(content), 0o600)
		want := fmt.Sprintf("%q holds no token: remove it, and a new one is made", path)
		if token, _, err := Local(path); err == nil || err.Error() != want {
			t.Errorf("%q: got %q, %v; want %s", content, token, err, want)
		}
	}
}

func TestLocal_createsOneTokenForConcurrentProcesses(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "token")
		var mu sync.Mutex
		made, seen := 0, make(map[string]bool)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				token, created, err := Local(path)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if seen[token] = true; created {
					made++
				}
			})
		}
		wg.Wait()
		if made != 1 || len(seen) != 1 {
			t.Fatalf("got %d tokens made, %d different; want 1, 1", made, len(seen))
		}
	}
}

func TestReadSecret_wantsOneLineOfItsOwner(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, err := ReadSecret(put("good", "pass word\r\n", 0o600)); got != "pass word" || err != nil {
		t.Errorf("got %q, %v; want the line", got, err)
	}
	for _, text := range []string{"", "\n", "a\nb", "a\x00b", strings.Repeat("a", 5000)} {
		if got, err := ReadSecret(put("bad", text, 0o600)); err == nil {
			t.Errorf("%.10q: got %.10q, want an error", text, got)
		}
	}
}
