package doctor

import (
	"context"
	"os"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// records examines the answers, the open questions and the running hosts of the state folder.
func (s Subject) records(ctx context.Context, r *Report) {
	if _, err := os.Stat(s.Settings.Text("state")); err != nil && s.Settings.Text("store") == "" {
		return
	}
	kept := host.OpenStore(s.Settings)
	defer kept.Close()
	answers, err := kept.Grants(ctx)
	if err != nil {
		r.add(Problem, "answers", "%v", err)
		return
	}
	r.add(OK, "answers", "%s", holding(answers))
	questions, err := kept.Questions(ctx)
	switch {
	case err != nil:
		r.add(Problem, "questions", "%v", err)
	case len(questions) > 0:
		verb := "wait"
		if len(questions) == 1 {
			verb = "waits"
		}
		r.add(Note, "questions", "%s %s for you", ui.Count(len(questions), "question"), verb).next(s.command("pending"))
	default:
		r.add(OK, "questions", "none open")
	}
	s.running(r, kept)
}

// holding counts the answers that hold, by plugin.
func holding(answers []store.Grant) string {
	if len(answers) == 0 {
		return "none hold"
	}
	byPlugin := map[string]int{}
	var order []string
	for _, g := range answers {
		if byPlugin[g.Plugin]++; byPlugin[g.Plugin] == 1 {
			order = append(order, g.Plugin)
		}
	}
	var parts []string
	for _, name := range order {
		parts = append(parts, ui.Count(byPlugin[name], "answer")+" for "+name)
	}
	return strings.Join(parts, ", ") + "; sallyport grants lists them"
}

// running reports the hosts of the state folder, and the console.
func (s Subject) running(r *Report, kept *store.Store) {
	hosts, err := host.Running(s.Settings, kept)
	if err != nil {
		r.add(Problem, "hosts", "%v", err)
		return
	}
	if len(hosts) == 0 {
		r.add(OK, "hosts", "none run")
	}
	for _, h := range hosts {
		text := "serves " + h.Dir + " since " + h.Began.Local().Format("2006-01-02 15:04")
		if len(h.Clients) > 0 {
			text += " to " + strings.Join(h.Clients, ", ")
		}
		r.add(OK, "host", "%s", text)
	}
	switch at := host.ConsoleAddress(s.Settings); {
	case s.Settings.Text("console") == "off":
		r.add(Note, "console", "off in the configuration")
	case at == "" || len(hosts) == 0:
		r.add(OK, "console", "served while a host runs")
	default:
		r.add(OK, "console", "%s; %s opens it", at, s.command("console"))
	}
}

// command returns a command line with the flags of these settings.
func (s Subject) command(words string) string {
	return strings.TrimSpace("sallyport " + words + " " + s.Settings.Flags())
}
