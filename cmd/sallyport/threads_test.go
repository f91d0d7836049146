package main

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// threadsSet matches the line in which the runtime of a program prints its number of threads, with GODEBUG=schedtrace.
var threadsSet = regexp.MustCompile(`^SCHED .* gomaxprocs=([0-9]+) `)

// A server leaves one thread to a client that sends one request after the other. A guest that computes for long gets more
// beside it, and so do a large message, also one that no guest reads, and a second connection, before its first request.
func TestServe_fitsItsThreadsToTheLoad(t *testing.T) {
	t.Parallel()
	serve := program(t, "limits: {deadline: 2s}", "serve", "--http", "127.0.0.1:0", "--no-token", folder(t, guest(t, "misbehave")))
	serve.Env = append(serve.Environ(), "GODEBUG=schedtrace=20", "GOMAXPROCS=")
	var threads atomic.Int64
	url := serveWatched(t, serve, func(line string) {
		if m := threadsSet.FindStringSubmatch(line); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			threads.Store(n)
		}
	})
	first, second := misbehaving(t, url), misbehaving(t, url)
	one := func() {
		t.Helper()
		eventually(t, "one thread is left", func() bool {
			if got := first("fine", "hello"); !strings.Contains(got, `"hello"`) {
				t.Fatalf("got %s, want hello", got)
			}
			return threads.Load() == 1
		})
	}
	all := func(what string) {
		t.Helper()
		eventually(t, "all threads run after "+what, func() bool { return threads.Load() > 1 })
	}
	one()
	if got := first("loop", ""); !strings.Contains(got, "did not answer in time") {
		t.Errorf("got %s, want an end at the deadline", got)
	}
	all("a long call")
	one()
	second("fine", "hello")
	all("a request on another connection")
	one()
	if got := first("none", strings.Repeat("x", 100_000)); !strings.Contains(got, `"error"`) {
		t.Errorf("got %s, want an error", got)
	}
	all("a large message")
	one()
	address, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	all("a connection without a request")
}

// misbehaving returns a client with a connection of its own, which calls tools of a guest.
func misbehaving(t *testing.T, url string) (call func(tool, text string) string) {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return func(tool, text string) string {
		r, err := modernRequest(url, "tools/call", "misbehave-"+tool, []byte(modern("1", "tools/call", `"name":"misbehave-`+tool+`","arguments":{"text":"`+text+`"},`)))
		if err != nil {
			t.Error(err)
			return ""
		}
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer res.Body.Close()
		all, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		return string(all)
	}
}
