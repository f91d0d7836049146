package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/voice"
	"github.com/sallyport-mcp/sallyport/hostfuncs/receipt"
)

// maxShownEffects is how many effects and refusals of a call are printed; sallyport audit show has the rest.
const maxShownEffects = 5

// auditLine is a line of the audit log, as far as a person reads it: what a call did, or what was answered.
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

// printLine writes a line of the log for a person: one line, and one more for each effect and refusal.
func printLine(w io.Writer, raw json.RawMessage) {
	var l auditLine
	if json.Unmarshal(raw, &l) != nil {
		fmt.Fprintf(w, "%s\n", voice.JSON(raw)) // of a later version, perhaps
		return
	}
	at := l.At.Local().Format("2006-01-02 15:04:05")
	if l.Event != "" {
		fmt.Fprintln(w, voice.Fit(voice.Line(strings.TrimSpace(fmt.Sprintf("%s  %s  %s", at, cmp.Or(l.Plugin, "-"), eventText(l))))))
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
		text += ", for " + voice.Caller(l.Principal)
	}
	fmt.Fprintln(w, voice.Fit(voice.Line(text+"  "+l.Call)))
	var about []string
	for _, e := range l.Effects {
		about = append(about, strings.TrimSpace(fmt.Sprintf("%s %s", e.Family, e.Target))+times(e.Count))
	}
	for _, d := range l.Denials {
		about = append(about, "refused: "+d.Effect+times(d.Count))
	}
	for i, line := range about {
		if i == maxShownEffects {
			voice.Indent(w, fmt.Sprintf("and %d more: sallyport audit show %s", len(about)-i, l.Call))
			break
		}
		voice.Indent(w, line)
	}
}

func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" × %d", n)
}

// eventText is what happened besides calls.
func eventText(l auditLine) string {
	if l.Event != "answer" {
		return l.Event
	}
	text := "you answered " + l.Answer + ": " + l.What
	if l.Once {
		text += ", once"
	}
	return text + ", on the " + l.By
}
