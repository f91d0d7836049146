// Package doctor examines an installation: its configuration, folders, plugins, answers, clients and machine. It
// reports one finding for each subject, with the command to type, and repairs those findings whose repair is safe.
//
//	report := doctor.Examine(ctx, doctor.Subject{Settings: s, …})
//	report.Repair()
//	report.Print(out)
package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
)

// Level is the weight of a finding.
type Level string

// The values of Level, in rising order.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Problem Level = "problem" // something does not work, or is not safe
)

// Finding is the result of one examination.
type Finding struct {
	Level Level  `json:"level"`
	Topic string `json:"topic"`          // its subject: "state folder"
	Text  string `json:"text"`           // one or two sentences
	Next  string `json:"next,omitempty"` // the command to type
	Fix   string `json:"fix,omitempty"`  // the repair that --fix makes
	Fixed bool   `json:"fixed,omitempty"`

	repair func() error // nil if no repair is safe
}

// Report holds the findings about an installation.
type Report struct {
	Version  string    `json:"version"` // of this program
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
	Engine   string    `json:"engine"` // library and version that run WebAssembly
	Findings []Finding `json:"findings"`
}

// add appends a finding.
func (r *Report) add(level Level, topic, format string, args ...any) *Finding {
	r.Findings = append(r.Findings, Finding{Level: level, Topic: topic, Text: fmt.Sprintf(format, args...)})
	return &r.Findings[len(r.Findings)-1]
}

// next sets the command to type.
func (f *Finding) next(command string) *Finding {
	f.Next = command
	return f
}

// fixable sets the repair and its description.
func (f *Finding) fixable(text string, repair func() error) {
	f.Fix, f.repair = text, repair
}

// Repair makes every repair that is safe. A finding whose repair fails stays, with the error in its text.
func (r *Report) Repair() {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.repair == nil {
			continue
		}
		if err := f.repair(); err != nil {
			f.Text += fmt.Sprintf(" (the repair failed: %v)", err)
			continue
		}
		f.Fixed = true
	}
}

// Count returns the number of unrepaired findings of a level.
func (r *Report) Count(level Level) (n int) {
	for _, f := range r.Findings {
		if f.Level == level && !f.Fixed {
			n++
		}
	}
	return n
}

// Print writes the report for a person.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "sallyport %s (%s, %s, %s)\n\n", r.Version, r.Go, r.Platform, r.Engine)
	for _, f := range r.Findings {
		f.print(w)
	}
	fmt.Fprintf(w, "\n%s\n", r.summary())
}

// print writes one finding: a line, and the text behind it below.
func (f *Finding) print(w io.Writer) {
	level := string(f.Level)
	if f.Fixed {
		level = "fixed"
	}
	head := fmt.Sprintf("%-8s %s", level, ui.Line(f.Topic))
	if f.Level == OK && len(head)+len(f.Text)+2 <= 80 {
		fmt.Fprintf(w, "%s: %s\n", head, ui.Line(f.Text))
		return
	}
	fmt.Fprintln(w, head)
	ui.Indent(w, f.Text)
	if f.Fix != "" && !f.Fixed {
		ui.Indent(w, "--fix: "+f.Fix)
	}
	if f.Next != "" && !f.Fixed {
		ui.Indent(w, "→ "+f.Next)
	}
}

// summary counts the findings that ask for something.
func (r *Report) summary() string {
	var parts []string
	for _, level := range []Level{Problem, Warning} {
		if n := r.Count(level); n > 0 {
			parts = append(parts, ui.Count(n, string(level)))
		}
	}
	if len(parts) == 0 {
		return "no problems"
	}
	fixes := 0
	for _, f := range r.Findings {
		if f.repair != nil && !f.Fixed {
			fixes++
		}
	}
	if text := strings.Join(parts, ", "); fixes == 0 {
		return text
	}
	return fmt.Sprintf("%s; --fix repairs %d", strings.Join(parts, ", "), fixes)
}
