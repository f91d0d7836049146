package host

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// confine limits this process and what it starts: it may read below some folders, change one, and use no TCP. "" is no
// folder. A kernel without Landlock, or with an older version of it, limits less.
func confine(read, change string) error {
	var rules []landlock.Rule
	if read != "" {
		rules = append(rules, landlock.RODirs(read))
	}
	if change != "" {
		rules = append(rules, landlock.RWDirs(change))
	}
	if err := landlock.V7.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("this process cannot be confined: %w", err)
	}
	return nil
}
