package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
)

func newUsage(std stdio) *cobra.Command {
	var asCSV bool
	c := &cobra.Command{
		Use:   "usage",
		Short: "print the use of callers that quotas name",
		Long: `Print the calls, fuel, bytes and requests of each caller that the section quotas names, in each of its last 24 windows:
by length, begin and caller. Bytes and requests are those of plugins to the web. Times are UTC.`,
		Args: words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadHost(c, "")
			if err != nil {
				return err
			}
			kept := host.OpenStore(s)
			defer kept.Close()
			if asCSV {
				return writeUsageCSV(c.Context(), std.out, kept)
			}
			return printUsage(c.Context(), std.out, kept)
		},
	}
	c.Flags().BoolVar(&asCSV, "csv", false, "print CSV (RFC 4180), with a line of names")
	return c
}

// usageColumns are the names of the columns, in both forms.
var usageColumns = []string{"principal", "begin", "end", "calls", "fuel", "bytes", "requests"}

func usageCells(l usage.Line) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{l.Principal, l.Begin.Format(time.RFC3339), l.Begin.Add(l.Length).Format(time.RFC3339), number(l.Calls), number(l.Fuel), number(l.Bytes), number(l.Requests)}
}

func printUsage(ctx context.Context, out io.Writer, kept *store.Store) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rows := 0
	err := usage.Each(ctx, kept, func(l usage.Line) error {
		if rows++; rows == 1 {
			fmt.Fprintln(table, strings.Join(usageColumns, "\t"))
		}
		cells := usageCells(l)
		cells[0] = ui.Line(cells[0])
		fmt.Fprintln(table, strings.Join(cells, "\t"))
		return nil
	})
	if err == nil && rows == 0 {
		fmt.Fprintln(out, "no caller that quotas names has called in its last windows")
	}
	if err != nil {
		return err
	}
	return table.Flush()
}

func writeUsageCSV(ctx context.Context, out io.Writer, kept *store.Store) error {
	w := csv.NewWriter(out)
	if err := w.Write(usageColumns); err != nil {
		return err
	}
	err := usage.Each(ctx, kept, func(l usage.Line) error {
		cells := usageCells(l)
		cells[0] = plainCell(cells[0])
		return w.Write(cells)
	})
	w.Flush()
	if err != nil {
		return err
	}
	return w.Error()
}

// plainCell returns a text that a spreadsheet does not take for a formula.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
