//go:build amd64 || arm64

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// confinedVariable makes the test binary confine itself and try to get out.
const confinedVariable = "TEST_CONFINED"

func TestMain(m *testing.M) {
	if os.Getenv(confinedVariable) != "" {
		escape()
		return
	}
	os.Exit(m.Run())
}

// escape prints the result of each attempt, also from a thread that was there before.
func escape() {
	go func() { select {} }()
	confine()
	attempts := map[string]func() error{
		"read":    func() error { _, err := os.ReadFile("/etc/hostname"); return err },
		"write":   func() error { return os.WriteFile("/tmp/escaped", nil, 0o600) },
		"connect": func() error { _, err := net.Dial("tcp", "127.0.0.1:9"); return err },
		"listen":  func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"start":   func() error { return exec.Command("/bin/true").Run() },
		"kill":    func() error { return syscall.Kill(os.Getppid(), 0) },
		"remove":  func() error { return os.Remove("/tmp/escaped") },
	}
	for name, try := range attempts {
		if err := try(); !errors.Is(err, syscall.EPERM) {
			fmt.Printf("%s: got %v, want EPERM\n", name, err)
		}
	}
	done := make(chan int)
	for range 64 { // threads and memory are allowed
		go func() { done <- len(make([]byte, 1<<20)) }()
	}
	for range 64 {
		<-done
	}
	fmt.Println("done")
}

// After its first step the process can compute, and nothing else.
func TestConfine_leavesComputingAlone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), confinedVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Errorf("got %v\n%s, want each attempt refused", err, out)
	}
}
