package cases

import (
	"encoding/xml"
	"io"
	"strings"
)

// Outcome is the result of one case.
type Outcome struct {
	Name     string
	Problems []string // none for a case that passed
}

type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes outcomes in the form that continuous integration reads.
func WriteJUnit(w io.Writer, suite string, outcomes []Outcome) error {
	s := junitSuite{Name: suite, Tests: len(outcomes)}
	for _, o := range outcomes {
		c := junitCase{Name: o.Name, Class: suite}
		if len(o.Problems) > 0 {
			s.Failures++
			c.Failure = &junitFailure{Message: strings.Join(o.Problems, "\n")}
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
