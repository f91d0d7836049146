package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// confined is the variable of a child process that calls confine, with its folder.
const confined = "SALLYPORT_TEST_CONFINED"

// tryConfined is that process: it prints the outcome of each access. Some threads exist before it is confined.
func tryConfined(dir string) {
	began, goOn := make(chan bool), make(chan bool)
	for range 4 {
		go func() {
			began <- true
			<-goOn
		}()
		<-began
	}
	read, change := filepath.Join(dir, "read"), filepath.Join(dir, "change")
	if err := confine(read, change); err != nil {
		fmt.Println(err)
		return
	}
	close(goOn)
	tell := func(what string, err error) {
		said := "works"
		if errors.Is(err, fs.ErrPermission) {
			said = "refused"
		} else if err != nil {
			said = err.Error()
		}
		fmt.Println(what, said)
	}
	_, err := os.ReadFile(filepath.Join(read, "file"))
	tell("read", err)
	tell("write beside", os.WriteFile(filepath.Join(read, "other"), nil, 0o600))
	tell("change", os.WriteFile(filepath.Join(change, "file"), nil, 0o600))
	tell("rename", os.Rename(filepath.Join(change, "file"), filepath.Join(change, "renamed")))
	_, err = os.ReadFile(filepath.Join(dir, "file"))
	tell("read outside", err)
	_, err = os.ReadDir(dir)
	tell("list outside", err)
	tell("write outside", os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	_, err = net.Dial("tcp", os.Getenv(confined+"_ADDRESS"))
	tell("connect", err)
}

// A confined process reads below one folder, changes another one, and reaches nothing else; on a system that cannot
// confine it, it works all the same.
func TestConfine_leavesTwoFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"read", "change"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "read/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), confined+"="+dir, confined+"_ADDRESS="+l.Addr().String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("got %v: %s", err, out)
	}
	outside := "works"
	if walls() {
		outside = "refused"
	}
	want := strings.ReplaceAll("read works\nwrite beside X\nchange works\nrename works\nread outside X\nlist outside X\nwrite outside X\nconnect X\n", "X", outside)
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
