package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var tools = []entry{
	{"github-createIssue", "Create an issue", "Opens an issue in a repository."},
	{"github-list_issues", "", "Lists the issues of a repository."},
	{"time-now", "Current time", "The time in a zone."},
	{"files-read", "", "Reads a file. Not for a repository's history."},
}

func TestRank_ordersByRelevance(t *testing.T) {
	for query, want := range map[string][]int{
		"issue":                       {0, 1},
		"list issues":                 {1, 0},
		"CREATE":                      {0},
		"repository":                  {0, 1, 3},
		"zone time":                   {2},
		"file":                        {3},
		"nothing":                     {},
		"":                            {0, 1, 2, 3},
		" -_ ":                        {0, 1, 2, 3},
		strings.Repeat("x ", 1<<20):   {},
		strings.Repeat("zone ", 1000): {2},
	} {
		if got := rank(tools, query); !slices.Equal(got, want) {
			t.Errorf("%.20q: %v, want %v", query, got, want)
		}
	}
	if got := rank(nil, "x"); len(got) != 0 {
		t.Error(got)
	}
}

func TestWords_splitsNames(t *testing.T) {
	if got := fmt.Sprint(words("createIssue, HTTP_get2 déjàVu")); got != "[create issue http get2 déjà vu]" {
		t.Errorf("got %v, want %v", got, "[create issue http get2 déjà vu]")
	}
}
