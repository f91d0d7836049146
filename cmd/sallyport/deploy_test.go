package main

import (
	"os"
	"path/filepath"
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
