//go:build programs && unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// line is one series of a panel: its name and its points.
type line struct {
	name   string
	points [][2]float64 // time and value
}

// drawn is the time that the picture covers, and window that of a rate in it.
const drawn, window = 40 * time.Second, "10s"

// Each panel of the dashboard shows the data of a host under load. The picture of all panels is build/dashboard.png: their
// expressions evaluated by Prometheus, drawn here, since Grafana is in no registry of packages.
func TestDashboard_drawsEachPanel(t *testing.T) {
	s, readable, admin := observedHost(t)
	callBoth(t, s, readable)
	prometheus := startPrometheus(t, admin)
	panels := boardPanels(t)
	var figures []string
	begun := time.Now()
	for deadline := begun.Add(2 * time.Minute); len(figures) < len(panels); {
		callTogether(t, s, readable)
		if time.Since(begun) < drawn {
			continue
		}
		figures = figures[:0]
		for _, p := range panels {
			var lines []line
			for _, q := range p.Targets {
				lines = append(lines, rangeOf(t, prometheus, strings.NewReplacer("$instance", ".*", "$__rate_interval", window).Replace(q.Expr), q.LegendFormat)...)
			}
			if !slices.ContainsFunc(lines, func(l line) bool { return len(l.points) >= 5 }) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: got %d lines without points, want a line", p.Title, len(lines))
				}
				break
			}
			figures = append(figures, figure(p, lines))
		}
	}
	picture(t, figures)
}

// callTogether makes more calls at a time than the host runs, of which each third is denied.
func callTogether(t *testing.T, s *mcp.ClientSession, readable string) {
	t.Helper()
	errs := make([]error, 24)
	var callers sync.WaitGroup
	for i := range errs {
		callers.Go(func() {
			path := readable
			if i%3 == 0 {
				path = "/etc/passwd"
			}
			_, errs[i] = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "files-read", Arguments: map[string]any{"path": path}})
		})
	}
	callers.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// panel is one panel of the dashboard.
type panel struct {
	Title       string
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ Expr, LegendFormat string }
}

func boardPanels(t *testing.T) []panel {
	t.Helper()
	var board struct{ Panels []panel }
	raw, err := os.ReadFile(deployed + "/grafana/sallyport.json")
	if err == nil {
		err = json.Unmarshal(raw, &board)
	}
	if err != nil || len(board.Panels) == 0 {
		t.Fatalf("got %d panels, %v, want some", len(board.Panels), err)
	}
	return board.Panels
}

// rangeOf evaluates an expression over the time that is drawn.
func rangeOf(t *testing.T, prometheus, expr, legend string) (lines []line) {
	t.Helper()
	now := time.Now()
	r, err := http.PostForm("http://"+prometheus+"/api/v1/query_range", url.Values{"query": {expr}, "step": {"1"},
		"start": {fmt.Sprint(now.Add(-drawn).Unix())}, "end": {fmt.Sprint(now.Unix())}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Status string
		Data   struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: got %s, %v, want success", expr, body, err)
	}
	for _, one := range answer.Data.Result {
		name := legend
		for key, value := range one.Metric {
			name = strings.ReplaceAll(name, "{{"+key+"}}", value)
		}
		l := line{name: name}
		for _, v := range one.Values {
			at, _ := v[0].(float64)
			text, _ := v[1].(string)
			if n, err := strconv.ParseFloat(text, 64); err == nil && n == n { // a quantile of nothing is not a number
				l.points = append(l.points, [2]float64{at, n})
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// colours are those of the lines of a panel.
var colours = []string{"#3274d9", "#e0752d", "#37872d", "#8f3bb8", "#c4162a", "#806eb7"}

// figure draws a panel as SVG in HTML.
func figure(p panel, lines []line) string {
	const width, height = 380.0, 150.0
	top, first, last := 0.0, 0.0, 0.0
	for _, l := range lines {
		for _, v := range l.points {
			top, last = max(top, v[1]), max(last, v[0])
			if first == 0 || v[0] < first {
				first = v[0]
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s</figcaption><svg width="%v" height="%v"><rect width="100%%" height="100%%" fill="#f7f8fa"/>`, html.EscapeString(p.Title), width, height)
	var legend strings.Builder
	for i, l := range lines {
		colour := colours[i%len(colours)]
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, colour)
		for _, v := range l.points {
			fmt.Fprintf(&b, "%.1f,%.1f ", (v[0]-first)/max(last-first, 1)*width, height-4-v[1]/max(top, 1e-9)*(height-24))
		}
		b.WriteString(`"/>`)
		fmt.Fprintf(&legend, `<span style="color:%s">%s</span> `, colour, html.EscapeString(l.name))
	}
	fmt.Fprintf(&b, `<text x="4" y="14">%.3g %s</text></svg><p>%s</p></figure>`, top, html.EscapeString(p.FieldConfig.Defaults.Unit), legend.String())
	return b.String()
}

// picture writes the figures as a page, and the page as a picture.
func picture(t *testing.T, figures []string) {
	t.Helper()
	build, err := filepath.Abs(filepath.Join("..", "..", "build"))
	if err != nil {
		t.Fatal(err)
	}
	page := `<meta charset="utf-8"><style>body{font:12px sans-serif;display:grid;grid-template-columns:repeat(3,1fr);gap:10px;width:1190px;margin:10px}figure{margin:0}figcaption{font-weight:bold}p{margin:2px 0;height:28px;overflow:hidden}text{font-size:11px}</style>` +
		strings.Join(figures, "")
	file, png := filepath.Join(build, "dashboard.html"), filepath.Join(build, "dashboard.png")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	const row, columns = 205, 3 // pixels of a figure with its gap
	size := fmt.Sprintf("--window-size=1230,%d", 60+row*((len(figures)+columns-1)/columns))
	out, err := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), size, "--screenshot="+png, "file://"+file).CombinedOutput()
	if err != nil {
		t.Fatalf("got %v, %s, want a picture", err, out)
	}
}
