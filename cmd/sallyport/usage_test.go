package main

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/usage"
	ident "github.com/sallyport-mcp/sallyport/internal/identity"
)

// Names of callers are cells of a spreadsheet, and lines of a terminal, also those of formulas and control characters.
func TestUsage_namesOfCallersAreNoFormulas(t *testing.T) {
	kept := store.New(store.Options{Dir: t.TempDir()})
	defer kept.Close()
	m := usage.New(usage.Options{Store: kept})
	all, err := ident.ParseWho([]string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	m.Set([]usage.Quota{{Who: all, Per: time.Hour}})
	names := []string{"token:ann", "=HYPERLINK(\"https://x\")", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\n=1", "a,b", `a"b`, "a\nb", "\x1b[31mred", "token:Ann"}
	for _, name := range names {
		settle, err := m.Begin(t.Context(), ident.Identity{Principal: name})
		if err != nil {
			t.Fatal(err)
		}
		settle(usage.Amount{Fuel: 7, Bytes: 8, Requests: 9})
	}
	var out bytes.Buffer
	if err := writeUsageCSV(t.Context(), &out, kept); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != len(names)+1 || !slices.Equal(rows[0], usageColumns) {
		t.Fatalf("got %d rows, %v, want %d", len(rows), err, len(names)+1)
	}
	for _, row := range rows[1:] {
		if strings.ContainsRune("=+-@\t\r\n", rune(row[0][0])) || !slices.Equal(row[3:], []string{"1", "7", "8", "9"}) {
			t.Errorf("got %q, want no formula, and the use of one call", row)
		}
	}
	out.Reset()
	if err := printUsage(t.Context(), &out, kept); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "\n") != len(names)+1 || strings.ContainsAny(text, "\x1b\t\r") {
		t.Errorf("got %q, want a line for each caller, without control characters", text)
	}
}
