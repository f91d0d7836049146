package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/audit"
)

// maxAuditFiles bounds the files of one verification: those of a thousand hosts and more.
const maxAuditFiles = 100_000

func newAuditExport(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "print every line of the log as JSON, to be verified elsewhere",
		Long: `Print every line of the audit log as JSON, {"chain":NAME,"line":{…}}, while hosts write it.

sallyport audit verify FILE proves the lines as long as no program reformats them.`,
		Args: words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return audit.Export(s.State().Audit(), std.out)
		},
	}
}

// verifyFiles verifies exported lines, with all also against the heads of all hosts of the database.
func verifyFiles(ctx context.Context, std stdio, s *settings.Settings, keys, marks, files []string, all bool) error {
	whose := func(i int) string { return "in " + ui.Line(keys[i]) + ", which you named" }
	if len(keys) == 0 {
		keys = []string{s.State().AuditKey()}
		whose = func(int) string { return "of this state folder" }
	}
	f := audit.Files{Marks: marks, Heads: map[string]string{}}
	if all {
		own, others, err := host.RecordedHeads(ctx, s)
		if err != nil {
			return fmt.Errorf("the heads in the database cannot be read: %w", err)
		}
		for _, h := range append(own, others...) {
			f.Heads[h.Chain] = h.Last
		}
	}
	for _, file := range keys {
		key, err := audit.ReadKey(file)
		if errors.Is(err, fs.ErrNotExist) {
			return ui.Hint(err, "--key names the key of the host that wrote the lines: audit/key in its state folder")
		}
		if err != nil {
			return err
		}
		f.Keys = append(f.Keys, key)
	}
	r, err := f.Verify(files...)
	if err == nil && r.Chains == 0 && len(r.Problems) == 0 {
		err = errors.New("there is no line of an audit log in the files")
	}
	if err != nil {
		return err
	}
	err = tellReport(std, r, whose)
	if err == nil {
		tellProven(std, len(marks))
	}
	return err
}

// tellProven prints the limit of a proof by a key.
func tellProven(std stdio, marks int) {
	if marks > 0 {
		fmt.Fprintf(std.out, "%s that you named: in them, so the lines up to there are those of then\n", ui.Count(marks, "mark"))
		return
	}
	fmt.Fprintln(std.out, "not proven: that no one who has a key invented the lines, or left out whole chains; --mark compares a line that you know")
}
