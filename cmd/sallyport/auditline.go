package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/receipt"
)

// maxShownEffects is the limit of effects and denials printed per call; sallyport audit show prints all.
const maxShownEffects = 5

// auditLine holds the printed members of an audit line: a call or an answer.
type auditLine struct {
	receipt.Receipt
	At        time.Time `json:"at"`
	Tool      string    `json:"tool"`
	Method    string    `json:"method"`
	Principal string    `json:"principal"`
	Event     string    `json:"event"`
	By        string    `json:"by"`
	Answer    string    `json:"answer"`
	What      string    `json:"what"`
	Once      bool      `json:"once"`
}

// printLine prints an audit line, with one more line for each effect and denial.
func printLine(w io.Writer, raw json.RawMessage) {
	var l auditLine
	if json.Unmarshal(raw, &l) != nil {
		fmt.Fprintf(w, "%s\n", ui.JSON(raw)) // perhaps of a later version
		return
	}
	at := l.At.Local().Format("2006-01-02 15:04:05")
	if l.Event != "" {
		fmt.Fprintln(w, ui.Fit(ui.Line(strings.TrimSpace(fmt.Sprintf("%s  %s  %s", at, cmp.Or(l.Plugin, "-"), eventText(l))))))
		return
	}
	name := l.Plugin
	if l.Tool != "" {
		name += "-" + l.Tool
	} else if l.Method != "" {
		name += " " + l.Method
	}
	text := fmt.Sprintf("%s  %s  %s in %.0f ms", at, name, cmp.Or(l.Outcome, "started"), l.Millis)
	if l.Principal != "" {
		text += ", for " + ui.Caller(l.Principal)
	}
	fmt.Fprintln(w, ui.Fit(ui.Line(text+"  "+l.Call)))
	var about []string
	for _, e := range l.Effects {
		about = append(about, strings.TrimSpace(fmt.Sprintf("%s %s", e.Family, e.Target))+times(e.Count))
	}
	for _, d := range l.Denials {
		about = append(about, "refused: "+d.Effect+times(d.Count))
	}
	for i, line := range about {
		if i == maxShownEffects {
			ui.Indent(w, fmt.Sprintf("and %d more: sallyport audit show %s", len(about)-i, l.Call))
			break
		}
		ui.Indent(w, line)
	}
}

func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" × %d", n)
}

// eventText describes an audit line that is not a call. One of an intent has no outcome.
func eventText(l auditLine) string {
	said := "you answered "
	switch l.Event {
	case "answer":
	case consent.Intent:
		said = "interrupted, or not at its end yet: you answered "
	case consent.Failed:
		said = "failed: you answered "
	default:
		return l.Event
	}
	text := said + l.Answer + ": " + l.What
	if l.Once {
		text += ", once"
	}
	return text + ", on the " + l.By
}
