//go:build clients

package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// npm returns a file of an npm package installed by make.
func npm(t *testing.T, parts ...string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "build", "clients", "node_modules"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("suite: got %v, want it installed (make clients)", err)
	}
	return file
}

// suites are the runs of the public suite: the npm package and the selected scenarios, with the expected counts. others
// are scenarios that the suite runs and does not score.
var suites = []struct {
	name, dist     string
	args           []string
	scored, others int
}{
	{"0.1.16", "conformance-stable", []string{"--suite", "all"}, 32, 0},
	{"2025-11-25", "@modelcontextprotocol/conformance", []string{"--requirements", "2025-11-25"}, 30, 3},
	{"2026-07-28", "@modelcontextprotocol/conformance", []string{"--requirements", "2026-07-28"}, 37, 13},
	{"skills-directory", "@modelcontextprotocol/conformance", skillScenario("directory"), 0, 1},
	{"skills-enumeration", "@modelcontextprotocol/conformance", skillScenario("enumeration"), 0, 1},
	{"skills-manifest", "@modelcontextprotocol/conformance", skillScenario("manifest"), 0, 1},
}

// skillScenario selects a scenario of an extension, which no revision's run includes.
func skillScenario(name string) []string {
	return []string{"--scenario", "sep-2640-skills-" + name, "--force", "--spec-version", "2026-07-28"}
}

// skill packs the skill beside the conformance plugin.
func skill(t *testing.T) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "greeting.skill"))
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(out)
	if err := w.AddFS(os.DirFS(filepath.Join("..", "..", "plugins", "conformance", "skill"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// TestConformance runs every scenario of the public suite against one server with only the conformance plugin, in the
// sandbox. Failures and warnings fail the test, in scored scenarios and others.
func TestConformance(t *testing.T) {
	config, err := os.ReadFile(filepath.Join("..", "..", "plugins", "conformance", "sallyport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	url := serveURL(t, string(config), folder(t, bundled(t, "conformance"), skill(t)), "--no-token")
	table := fmt.Sprintf("%-20s %8s %8s %8s %8s\n", "suite", "scored", "others", "checks", "skipped")
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			index := npm(t, filepath.FromSlash(s.dist), "dist", "index.js")
			out, err := suite(t, append([]string{index, "server", "--url", url, "-o", dir}, s.args...)...)
			if _, summary, found := strings.Cut(out, "=== SUMMARY ==="); found {
				t.Log(summary)
			}
			if err != nil {
				t.Errorf("suite: got %v, want success\n%s", err, out)
			}
			n := tally(t, dir, s.scored > 0, required(t, index, s.args))
			if n.scored != s.scored || n.others != s.others {
				t.Errorf("%d scored and %d other scenarios passed, want %d and %d", n.scored, n.others, s.scored, s.others)
			}
			table += fmt.Sprintf("%-20s %5d/%-2d %5d/%-2d %8d %8d\n", s.name, n.scored, s.scored, n.others, s.others, n.checks, n.skipped)
		})
	}
	t.Log("\n" + table)
}

// suite runs the command line of the public suite.
func suite(t *testing.T, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, npm(t, ".bin", "node"), args...).CombinedOutput()
	return string(out), err
}

// required returns the scored scenarios of a run, nil if the suite does not list them.
func required(t *testing.T, index string, args []string) map[string]bool {
	if args[0] != "--requirements" {
		return nil
	}
	out, err := suite(t, append([]string{index, "list"}, args...)...)
	if err != nil {
		t.Fatalf("suite: got %v, want success: %s", err, out)
	}
	_, out, _ = strings.Cut(out, "Server scenarios")
	out, _, _ = strings.Cut(out, "Client scenarios")
	counts := map[string]bool{}
	for _, line := range strings.Split(out, "\n") {
		if name, found := strings.CutPrefix(line, "  - "); found {
			counts[name] = true
		}
	}
	return counts
}

// unwritten is a scenario for which this version of the suite has no checks. TestTaskListen_notifiesOfEachChangeOverHTTP covers its
// description.
const unwritten = "tasks-status-notifications"

// passed counts passed scenarios, and all checks.
type passed struct{ scored, others, checks, skipped int }

// tally reads the results of a run in dir, a folder per scenario. If counts is nil, all scenarios are scored or,
// without all, none.
func tally(t *testing.T, dir string, all bool, counts map[string]bool) (n passed) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got no checks, %v, want some", dir, err)
	}
	for _, file := range files {
		name := scenarioIn.FindStringSubmatch(filepath.Base(filepath.Dir(file)))[1]
		switch fine := n.add(t, name, file); {
		case !fine:
		case counts[name], counts == nil && all:
			n.scored++
		default:
			n.others++
		}
	}
	return n
}

// scenarioIn matches the scenario's name in its folder's name.
var scenarioIn = regexp.MustCompile(`^server-(.*)-\d{4}-\d\d-\d\dT`)

// add reads the checks of a scenario. It returns false if one did not pass.
func (n *passed) add(t *testing.T, scenario, file string) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(raw, &checks); err != nil {
		t.Fatal(err)
	}
	fine := true
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			n.checks++
		case "SKIPPED":
			if n.skipped++; scenario != unwritten {
				t.Errorf("%s: %s: got it skipped: %s, want it run", scenario, c.ID, c.ErrorMessage)
			}
		case "INFO":
		default:
			fine = false
			t.Errorf("%s: %s: got %s: %s, want success", scenario, c.ID, c.Status, c.ErrorMessage)
		}
	}
	return fine
}
