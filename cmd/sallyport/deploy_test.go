package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// manifestConfig returns the configuration in the manifests.
func manifestConfig(t *testing.T) string {
	t.Helper()
	all, err := os.ReadFile(filepath.Join("..", "..", "deploy", "manifests", "sallyport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(all), "\n  sallyport.yaml: |\n")
	if !ok {
		t.Fatal("the manifests have no sallyport.yaml")
	}
	var config strings.Builder
	for line := range strings.Lines(rest) {
		text, inside := strings.CutPrefix(line, "    ")
		if !inside {
			break
		}
		config.WriteString(text)
	}
	return config.String()
}

// The program reads the configuration of the manifests, and has each of its values.
func TestDeploy_configurationIsTheProgramsOwn(t *testing.T) {
	config := manifestConfig(t)
	out, err := program(t, config, "config").CombinedOutput()
	if err != nil {
		t.Fatalf("got %v, %s, want success", err, out)
	}
	for _, want := range []string{"0.0.0.0:8470", "0.0.0.0:9470", "/secrets/tls/tls.crt", "/secrets/tokens/tokens", "/secrets/keys/keys", "10s", "60s"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %q in it", out, want)
		}
	}
}

// The page for operators has a row for each alert.
func TestDeploy_eachAlertHasARow(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	page, alerts := allPages(t, "operating.md"), regexp.MustCompile(`- alert: (\S+)`).FindAllStringSubmatch(string(rules), -1)
	if rows := strings.Count(page, "\n| Sallyport"); rows != len(alerts) || rows == 0 {
		t.Errorf("got %d rows of alerts, want one for each of %d", rows, len(alerts))
	}
	for _, m := range alerts {
		if !strings.Contains(page, "\n| "+m[1]+" |") {
			t.Errorf("docs/operating.md: got no row of %s, want one", m[1])
		}
	}
}
