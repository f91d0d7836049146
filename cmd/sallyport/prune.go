package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/registry/lock"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// defaultUnused is the default of --unused, in days.
const defaultUnused = 30

func newPrune(std stdio) *cobra.Command {
	var days int
	c := &cobra.Command{
		Use:   "prune",
		Short: "remove compiled code and copies of plugins that were not used for a month",
		Long: `Remove from the state folder the compiled code that was not used for a month or that a former version of this program
left, and the copies of plugins that were replaced. The bytes that the lock file approves, grants, answers and the audit
log stay. Other lock files that share the state folder lose the copies that no host used for that time: a plugin of
theirs whose file has changed since is held. Code that is needed again is made again. Hosts may run meanwhile. With a
lock in the database of store, the copies there that no plugin needs are removed too.`,
		Args: words(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if days < 0 || days > maxUnused {
				return fmt.Errorf("--unused %d: a number of days from 0 to %d is wanted", days, maxUnused)
			}
			s, err := loadSettings(c, "")
			if err != nil {
				return err
			}
			return prune(c.Context(), std.out, s, time.Duration(days)*24*time.Hour)
		},
	}
	c.Flags().IntVar(&days, "unused", defaultUnused, "remove what was not used for this number of `days`; 0 removes all that no plugin of this lock file needs to start")
	c.Flags().String("lock", "", "lock `file`, in place of the one in the state folder")
	return c
}

// maxUnused bounds --unused, in days.
const maxUnused = 36500

// prune prints a line for each kind of file.
func prune(ctx context.Context, out io.Writer, s *settings.Settings, unused time.Duration) error {
	files, freed, left, err := runtime.PruneCache(s.State().Compiled(), unused)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "compiled code: %d files removed, %.1f MB; %.1f MB stay\n", files, megabytes(freed), megabytes(left))
	l, err := host.OpenLock(s, lock.Options{})
	if err != nil {
		return err
	}
	files, freed = l.PruneCopies(unused)
	shared, err := l.PruneShared(ctx, unused)
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	if s.SharesLock() {
		fmt.Fprintf(out, "copies of replaced plugins in the database: %d files removed\n", shared)
	}
	_, err = fmt.Fprintf(out, "copies of replaced plugins: %d files removed, %.1f MB\n", files, megabytes(freed))
	return err
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }
