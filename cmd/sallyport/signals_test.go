//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// signalled is a host in the middle of a call that waits for a page.
type signalled struct {
	t       *testing.T
	cmd     *exec.Cmd
	state   string
	log     *bufio.Scanner
	answers *bufio.Scanner
	release chan struct{}
}

// inCall starts a host with a call that fetches a page. change may change its command.
func inCall(t *testing.T, change func(*exec.Cmd)) *signalled {
	t.Helper()
	// Tests that run under nohup ignore SIGHUP. A caught signal has its default action in the program, an ignored one
	// would be ignored there too.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	asked := make(chan struct{})
	s := &signalled{t: t, release: make(chan struct{})}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-s.release:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "the page")
	}))
	t.Cleanup(site.Close)
	dir := folder(t, bundled(t, "fetch"))
	s.state = compiledState(t, dir)
	s.cmd = program(t, "plugins: {fetch: {grants: ['net: GET "+site.URL+"/**']}}", "serve", dir)
	ownState(s.cmd, s.state)
	change(s.cmd)
	log, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, out := piped(t, s.cmd)
	stuck := time.AfterFunc(3*hang, func() { s.cmd.Process.Kill() })
	t.Cleanup(func() { stuck.Stop() })
	s.answers, s.log = bufio.NewScanner(out), bufio.NewScanner(log)
	fmt.Fprintln(in, modern("1", "tools/call", `"name":"fetch-fetch","arguments":{"url":"`+site.URL+`/"},`))
	select {
	case <-asked:
	case <-time.After(hang):
		t.Fatal("the page is not asked for")
	}
	return s
}

func (s *signalled) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wantLog reads the log up to a line.
func (s *signalled) wantLog(text string) {
	s.t.Helper()
	for s.log.Scan() {
		if strings.Contains(s.log.Text(), text) {
			return
		}
	}
	s.t.Errorf("the log ends without %q", text)
}

// After any of the signals the calls finish, the log says so, and the audit log is closed.
func TestSignals_finishCallsAndCloseTheAuditLog(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			s := inCall(t, func(*exec.Cmd) {})
			s.signal(sig)
			s.wantLog("ending: 1 call finishes first")
			close(s.release)
			if !s.answers.Scan() || !strings.Contains(s.answers.Text(), "the page") {
				t.Errorf("answered %q", s.answers.Text())
			}
			if err := s.cmd.Wait(); err != nil {
				t.Error(err)
			}
			verify := program(t, "", "audit", "verify")
			ownState(verify, s.state)
			if out, err := verify.CombinedOutput(); err != nil || strings.Contains(string(out), "no end") {
				t.Errorf("got %s %v", out, err)
			}
		})
	}
}

// A second signal ends a host at once.
func TestSignals_secondEndsAtOnce(t *testing.T) {
	s := inCall(t, func(*exec.Cmd) {})
	s.signal(syscall.SIGHUP)
	s.wantLog("ending: 1 call finishes first")
	s.signal(syscall.SIGHUP)
	if err := s.cmd.Wait(); err == nil || err.Error() != "signal: hangup" {
		t.Errorf("got %v, want an error, %q", err, "signal: hangup")
	}
}

// A host started with nohup survives its terminal.
func TestSignals_nohupSurvivesTheTerminal(t *testing.T) {
	s := inCall(t, func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	})
	s.signal(syscall.SIGHUP)
	close(s.release)
	if !s.answers.Scan() || !strings.Contains(s.answers.Text(), "the page") {
		t.Errorf("answered %q", s.answers.Text())
	}
	s.signal(syscall.SIGTERM)
	s.wantLog("ending: no call runs")
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
