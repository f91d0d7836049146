//go:build programs && unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deployed is the folder of the files for other programs of the operator.
const deployed = "../../deploy"

// observedHost serves the plugin files with a file that it may read, and returns a session and the operator's address.
func observedHost(t *testing.T) (s *mcp.ClientSession, readable, admin string) {
	t.Helper()
	dir := t.TempDir()
	readable = filepath.Join(dir, "a.txt")
	if err := os.WriteFile(readable, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "limits: {concurrency: 1}\nplugins: {files: {grants: [\"fs: read "+dir+"/**\"]}}", "serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--no-token", folder(t, bundled(t, "files")))
	on := regexp.MustCompile(`profiles are on http://(\S+)`)
	endpoint := serveWatched(t, cmd, func(line string) {
		if m := on.FindStringSubmatch(line); m != nil {
			admin = m[1] // before the line with the endpoint
		}
	})
	return session(t, &mcp.StreamableClientTransport{Endpoint: endpoint}, nil), readable, admin
}

// callBoth makes one call that reads a file and one that is denied.
func callBoth(t *testing.T, s *mcp.ClientSession, readable string) {
	t.Helper()
	for path, denied := range map[string]bool{readable: false, "/etc/passwd": true} {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "files-read", Arguments: map[string]any{"path": path}})
		if err != nil || r.IsError != denied {
			t.Fatalf("%s: got %+v, %v, want denied: %v", path, r, err, denied)
		}
	}
}

// promtool runs a check.
func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = strings.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: got %v, %s, want success", args, err, out)
	}
}

func TestDashboard_filesAndMetricsPassPromtool(t *testing.T) {
	promtool(t, "", "check", "rules", deployed+"/prometheus/alerts.yml")
	promtool(t, "", "check", "config", deployed+"/prometheus/prometheus.yml")
	s, readable, admin := observedHost(t)
	callBoth(t, s, readable)
	status, text := page(t, http.DefaultClient, "http://"+admin+"/metrics")
	if status != 200 {
		t.Fatalf("got %d %s, want 200", status, text)
	}
	promtool(t, text, "check", "metrics")
}

// Each expression of the dashboard and of the alert rules, without its threshold, has a series in a real Prometheus that
// scrapes a real host.
func TestDashboard_eachExpressionHasASeries(t *testing.T) {
	s, readable, admin := observedHost(t)
	callBoth(t, s, readable) // the series exist from the first scrape on
	prometheus := startPrometheus(t, admin)
	for name, expr := range expressions(t) {
		deadline := time.Now().Add(2 * time.Minute)
		for !hasSeries(t, prometheus, expr) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: got no series of %s, want one", name, expr)
			}
			callBoth(t, s, readable)
			time.Sleep(200 * time.Millisecond) // between two questions, the scrapes are no events
		}
	}
}

// startPrometheus starts a server that scrapes an address each second, and returns its own.
func startPrometheus(t *testing.T, target string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: sallyport, static_configs: [{targets: [%q]}]}]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--log.format=json")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at, ended := make(chan string, 1), make(chan struct{})
	go func() { // ends with the program's standard error
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "Listening on" {
				at <- line.Address
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		_ = cmd.Wait()
	})
	select {
	case addr := <-at:
		return addr
	case <-ended:
		t.Fatal("prometheus: got its end, want an address")
	}
	return ""
}

// hasSeries reports whether an expression has a series.
func hasSeries(t *testing.T, prometheus, expr string) bool {
	t.Helper()
	r, err := http.PostForm("http://"+prometheus+"/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode == http.StatusServiceUnavailable { // it still starts
		return false
	}
	var answer struct {
		Status string
		Data   struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: got %s, %v, want success", expr, body, err)
	}
	return len(answer.Data.Result) > 0
}

// threshold is the end of the expression of an alert.
var threshold = regexp.MustCompile(` (==|>) [0-9.]+$`)

// expressions returns those of the dashboard, with its variables replaced, and those of the alert rules without their
// thresholds, by name.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	raw, err := os.ReadFile(deployed + "/grafana/sallyport.json")
	if err == nil {
		err = json.Unmarshal(raw, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			all["panel "+p.Title+" "+q.RefID] = strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m").Replace(q.Expr)
		}
	}
	rules, err := os.ReadFile(deployed + "/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)- alert: (\S+)\n\s+expr: (.+)$`).FindAllStringSubmatch(string(rules), -1) {
		if !threshold.MatchString(m[2]) {
			t.Errorf("alert %s: got %s, want a threshold at its end", m[1], m[2])
		}
		all["alert "+m[1]] = threshold.ReplaceAllString(m[2], "")
	}
	if alerts := strings.Count(string(rules), "- alert:"); len(board.Panels) < 15 || len(all) < len(board.Panels)+alerts {
		t.Fatalf("got %d expressions of %d panels and %d alerts, want one each at least", len(all), len(board.Panels), alerts)
	}
	return all
}
