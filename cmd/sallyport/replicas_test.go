package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/transport/auth"
)

// example builds an example of the Go PDK, packed: it is listed without being compiled.
func example(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./examples/"+name)
	cmd.Dir = filepath.Join("..", "..", "pdk", "go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: got %v, want success: %s", err, text)
	}
	if text, err := program(t, "", "pack", out).CombinedOutput(); err != nil {
		t.Fatalf("pack: got %v, want success: %s", err, text)
	}
	return out
}

// shop counts orders by their keys.
type shop struct {
	mu     sync.Mutex
	orders map[string]int
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[r.FormValue("number")]++
	fmt.Fprintf(w, "order %s of %s", r.FormValue("count"), r.FormValue("item"))
}

// round is a response of the modern era: questions, or a result.
type round struct {
	Result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct{ Params struct{ Message string } }
		Content       []struct{ Text string }
	}
	Error *struct{ Message string }
}

// post sends one modern request that calls order-order.
func post(url string, id int, more map[string]any) (r round, err error) {
	return postAs("", url, id, more)
}

// postAs is post with a token.
func postAs(token, url string, id int, more map[string]any) (r round, err error) {
	params := map[string]any{"name": "order-order", "_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
	}}
	for key, value := range more {
		params[key] = value
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
	if err != nil {
		return r, err
	}
	q, err := modernRequest(url, "tools/call", "order-order", body)
	if err != nil {
		return r, err
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.Error != nil {
		return r, fmt.Errorf("status %d: %s", answer.StatusCode, raw)
	}
	return r, nil
}

// place makes one order and answers its questions. Successive requests go to different hosts.
func place(hosts []string, first int, shop string) error {
	item := "item " + strconv.Itoa(first)
	more := map[string]any{"arguments": map[string]any{"shop": shop, "item": item}}
	answers := []map[string]any{{"count": 2}, {"stars": 5}}
	for i := 0; ; i++ {
		r, err := post(hosts[(first+i)%len(hosts)], i+1, more)
		if err != nil {
			return err
		}
		if r.Result.ResultType == "complete" {
			if got, want := r.Result.Content[0].Text, "2 of "+item+", order 2 of "+item+", 5 stars"; got != want || i != 2 {
				return fmt.Errorf("after %d rounds: %q, want %q", i, got, want)
			}
			return nil
		}
		given := map[string]any{}
		for key := range r.Result.InputRequests {
			given[key] = map[string]any{"action": "accept", "content": answers[i]}
		}
		more["inputResponses"], more["requestState"] = given, r.Result.RequestState
	}
}

// inTurn is a proxy that sends requests to the hosts in turn, and counts them.
func inTurn(t *testing.T, hosts []string) (address string, counts []atomic.Int64) {
	t.Helper()
	var next atomic.Int64
	counts = make([]atomic.Int64, len(hosts))
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		n := int(next.Add(1)) % len(hosts)
		counts[n].Add(1)
		target, err := url.Parse(hosts[n])
		if err != nil {
			t.Error(err)
			return
		}
		r.Out.URL, r.Out.Host = target, target.Host
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL, counts
}

// replicas serves calls of several rounds from two processes that share only their keys, behind a proxy. A request with
// a side effect between two questions is sent once.
func replicas(t *testing.T, calls int) {
	t.Helper()
	up := &shop{orders: map[string]int{}}
	upstream := httptest.NewServer(up)
	defer upstream.Close()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(base64.StdEncoding.EncodeToString(sealed.RandomKey())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("state_keys: %s\nplugins: {order: {limits: {concurrency: 2, deadline: 60s}, grants: [elicitation, 'net: POST %s/**']}}\n", keys, upstream.URL)
	dir := folder(t, example(t, "order"))
	var hosts []string
	for range 2 {
		cmd := program(t, config, "serve", "--http", "127.0.0.1:0", dir, "--no-token")
		ownState(cmd, filepath.Join(t.TempDir(), "state"))
		hosts = append(hosts, serveCommand(t, cmd))
	}
	address, counts := inTurn(t, hosts)
	begun := time.Now()
	var wait sync.WaitGroup
	errs := make(chan error, calls)
	for worker := range 4 {
		wait.Go(func() {
			for i := worker; i < calls; i += 4 {
				if err := place([]string{address}, i, upstream.URL+"/orders"); err != nil {
					errs <- fmt.Errorf("call %d: %w", i, err)
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	t.Logf("%d calls of three rounds in %v", calls, time.Since(begun).Round(time.Millisecond))
	for n := range counts {
		if got := counts[n].Load(); got != int64(3*calls/2) {
			t.Errorf("host %d: got %d requests, want %d", n, got, 3*calls/2)
		}
	}
	if len(up.orders) != calls {
		t.Errorf("got %d orders, want %d", len(up.orders), calls)
	}
	for number, n := range up.orders {
		if n != 1 {
			t.Errorf("order %s: got it %d times, want once", number, n)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// The thousand calls are in TestClients_replicasContinueAThousandCalls, which takes longer.
func TestReplicas_continueEachOthersCalls(t *testing.T) { replicas(t, 40) }

// A host with different keys does not accept a continuation that it did not seal.
func TestReplicas_refuseOtherKeys(t *testing.T) {
	dir := folder(t, example(t, "order"))
	config := func(name string) string {
		keys := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(keys, []byte(base64.StdEncoding.EncodeToString(sealed.RandomKey())), 0o600); err != nil {
			t.Fatal(err)
		}
		return "state_keys: " + keys + "\nplugins: {order: {grants: [elicitation]}}\n"
	}
	one, other := serveURL(t, config("a"), dir, "--no-token"), serveURL(t, config("b"), dir, "--no-token")
	err := place([]string{one, other}, 0, "http://shop.example/")
	if err == nil || !strings.Contains(err.Error(), "requestState was not made by this server, or was changed") {
		t.Errorf("a replica of other keys: got %v, want a refusal of requestState", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A continuation belongs to its caller: a host with the same keys, but a different token of that name, does not accept
// it.
func TestReplicas_refuseOtherTokens(t *testing.T) {
	dir, keys := folder(t, example(t, "order")), keyFile(t)
	tokens := map[string]string{"ours": auth.New(), "theirs": auth.New()}
	host := func(token string) string {
		file := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(file, []byte(auth.Line("alice", token)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return serveURL(t, fmt.Sprintf("state_keys: %s\nhttp: {tokens: %s}\nplugins: {order: {grants: [elicitation]}}\n", keys, file), dir)
	}
	one, replica, other := host(tokens["ours"]), host(tokens["ours"]), host(tokens["theirs"])
	asked, err := postAs(tokens["ours"], one, 1, map[string]any{"arguments": map[string]any{"item": "tea", "shop": "http://shop.example/"}})
	if err != nil || asked.Result.RequestState == "" {
		t.Fatalf("got %+v, %v, want a requestState", asked, err)
	}
	answers := map[string]any{}
	for key := range asked.Result.InputRequests {
		answers[key] = map[string]any{"action": "decline"}
	}
	more := map[string]any{"arguments": map[string]any{"item": "tea", "shop": "http://shop.example/"}, "requestState": asked.Result.RequestState, "inputResponses": answers}
	if _, err := postAs(tokens["theirs"], other, 2, more); err == nil || !strings.Contains(err.Error(), "requestState belongs to another request") {
		t.Errorf("another caller of one name: got %v, want a refusal of requestState", err)
	}
	if _, err := postAs(tokens["ours"], replica, 3, more); err != nil {
		t.Errorf("the same caller: got %v, want success", err)
	}
	http.DefaultClient.CloseIdleConnections()
}
