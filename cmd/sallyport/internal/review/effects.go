package review

import (
	"fmt"
	"io"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
)

// maxShownEffects limits the differences in effects that are printed.
const maxShownEffects = 20

// signs describe the kinds of differences: whether something comes or goes, and its noun.
var signs = map[recording.Kind]string{
	recording.NewHost: "+ new host", recording.NewSecret: "+ secret", recording.NewFile: "+ file", recording.NewTool: "+ tool",
	recording.NewQuestion: "+ question", recording.NewRequest: "+ request", recording.Other: "+ effect",
	recording.Arguments: "~ arguments", recording.Failed: "! failed", recording.Answer: "~ answer", recording.Gone: "- gone",
}

// PrintEffects writes the differences in effects. A nil report is that of a plugin whose calls are not recorded.
func PrintEffects(w io.Writer, r *recording.Report, all bool) {
	switch {
	case r == nil:
		fmt.Fprintln(w, "\neffects are not compared: with record: 7d in its section they are at the next update")
		return
	case r.Recorded == 0 && r.Failed == "":
		fmt.Fprintln(w, "\neffects are not compared: no call is recorded yet")
		printDamaged(w, r)
		return
	case r.Failed != "":
		fmt.Fprintf(w, "\neffects are not compared: the recorded calls cannot be run again\n")
		ui.Indent(w, r.Failed)
		return
	}
	fmt.Fprintf(w, "\neffects: %d of %s since %s, tried with the new bytes\n", r.Tried, ui.Count(r.Recorded, "recorded call"), r.Since.Local().Format("2006-01-02 15:04"))
	for i, d := range r.Differences {
		if i == maxShownEffects && !all {
			fmt.Fprintf(w, "  and %s: --all prints them\n", ui.Count(len(r.Differences)-i, "more difference"))
			break
		}
		printEffect(w, d)
	}
	if r.More > 0 {
		fmt.Fprintf(w, "  and %s, which are not kept\n", ui.Count(r.More, "difference"))
	}
	if r.Tried < r.Recorded {
		fmt.Fprintln(w, "  the other calls were not tried: the time was over")
	}
	if len(r.Differences) == 0 {
		fmt.Fprintln(w, "  no difference")
	}
	printDamaged(w, r)
	fmt.Fprintln(w, "  nothing left this machine: the answers were the recorded ones\n"+
		"  a plugin that behaves differently when it is watched is possible, not excluded")
}

func printDamaged(w io.Writer, r *recording.Report) {
	if r.Damaged > 0 {
		fmt.Fprintf(w, "  %s cannot be read, and is left out\n", ui.Count(r.Damaged, "recorded call"))
	}
}

// printEffect writes one difference with the excerpts around it.
func printEffect(w io.Writer, d recording.Difference) {
	denied := ""
	if d.Denied {
		denied = ", which no grant allows"
	}
	fmt.Fprintf(w, "  %s: %s%s\n", signs[d.Kind], ui.Line(d.What), denied)
	if d.Kind != recording.Answer && d.Kind != recording.Failed {
		fmt.Fprintf(w, "      in %s, first of %s at %s\n", ui.Count(d.Calls, "call"), ui.Line(d.Entry), d.First.Local().Format("2006-01-02 15:04"))
	} else {
		fmt.Fprintf(w, "      in %s, first at %s\n", ui.Count(d.Calls, "call"), d.First.Local().Format("2006-01-02 15:04"))
	}
	for _, part := range []struct{ sign, text string }{{"-", d.Before}, {"+", d.After}} {
		if part.text == "" {
			continue
		}
		for _, line := range ui.Marked("      "+part.sign+" ", ui.Line(part.text)) {
			fmt.Fprintln(w, line)
		}
	}
	if max(d.Sizes[0], d.Sizes[1]) > recording.MaxExcerpt {
		fmt.Fprintf(w, "      an excerpt: of %s before, and of %s now\n", ui.Count(d.Sizes[0], "byte"), ui.Count(d.Sizes[1], "byte"))
	}
	if d.Others > 0 {
		fmt.Fprintf(w, "      and %s there, which are not shown\n", ui.Count(d.Others, "other difference"))
	}
}
