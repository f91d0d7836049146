package settings

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// ErrGranted is returned when existing grants already include the new one.
var ErrGranted = errors.New("the lines of the plugin allow it already")

// Addition is a pending change of a configuration file that adds a line to the grants of a plugin.
type Addition struct {
	File       string // changed, or created if missing
	Plugin     string
	Line       string   // in canonical form
	Difference []string // lines removed from the file, behind "- ", and lines added, behind "+ "
	Note       string   // a remark for the operator, "" if none

	before, after []byte
}

// Add is Add for the file of these settings.
func (s *Settings) Add(plugin, line string) (*Addition, error) { return Add(s.Watched(), plugin, line) }

// Add computes how a line is added to the grants of a plugin in a file, and writes nothing. All other bytes of the file
// stay. A line without effect is an error: ErrGranted, or one that names the line of max_grants or deny.
func Add(file, plugin, line string) (*Addition, error) {
	a, err := newAddition(file, plugin)
	if err != nil {
		return nil, err
	}
	if err := a.add(line); err != nil {
		return nil, err
	}
	a.Difference = difference(string(a.before), string(a.after))
	return a, nil
}

// AddAll is Add for several lines, which Write adds together. Lines that are granted already are left out; Difference is
// empty if all are.
func AddAll(file, plugin string, lines []string) (*Addition, error) {
	a, err := newAddition(file, plugin)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		if err := a.add(line); err != nil && !errors.Is(err, ErrGranted) {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	a.Difference = difference(string(a.before), string(a.after))
	return a, nil
}

// newAddition reads the file of an addition without lines.
func newAddition(file, plugin string) (*Addition, error) {
	if err := manifest.CheckName(plugin); err != nil {
		return nil, err
	}
	a := &Addition{File: file, Plugin: plugin}
	if a.File == "" {
		return nil, errors.New("there is no configuration folder: name a file with --config")
	}
	var err error
	a.before, err = userfile.Read(a.File)
	a.after = a.before
	return a, err
}

// add adds one line to the text behind the change.
func (a *Addition) add(line string) error {
	g, err := grant.ParseLine(line)
	if err != nil {
		return err
	}
	old, err := allowedIn(a.after, a.Plugin)
	if err != nil {
		return inFile(a.File, err)
	}
	note, err := within(old, g)
	if err != nil {
		return err
	}
	after, err := withGrant(a.after, a.Plugin, grant.Quote(g.String()))
	if err != nil {
		return fmt.Errorf("%s: %w", a.File, err)
	}
	a.after, a.Line = after, g.String()
	if note != "" {
		a.Note = note
	}
	return nil
}

// Write changes the file, if there is a difference. It returns userfile.ErrMeanwhile if the file changed since Add.
func (a *Addition) Write() error {
	if bytes.Equal(a.before, a.after) {
		return nil
	}
	_, err := userfile.Change(a.File, func(old []byte) ([]byte, error) {
		if !bytes.Equal(old, a.before) {
			return nil, userfile.ErrMeanwhile
		}
		return a.after, nil
	}, userfile.Options{})
	if err != nil {
		err = fmt.Errorf("%s: %w", a.File, err)
	}
	return err
}

// allowedIn returns the grants of a plugin in a file, under the ceilings that apply to them.
func allowedIn(data []byte, plugin string) (*grant.Set, error) {
	root, err := strictyaml.Parse(data, limits)
	if err != nil {
		return nil, err
	}
	ceiling, err := readCeiling(root)
	if err != nil {
		return nil, err
	}
	plugins, err := readPlugins(root, ceiling)
	if i := slices.IndexFunc(plugins, func(p Plugin) bool { return p.Name == plugin }); i >= 0 {
		return plugins[i].Grants, err
	}
	return grant.NewSet().Under(ceiling), err
}

// within returns an error for a line without effect. The note is set if a ceiling bounds the line further, in a way
// that cannot be computed in advance.
func within(old *grant.Set, g grant.Grant) (note string, err error) {
	if g.Deny {
		return "", nil
	}
	own := grant.NewSet(old.Lines()...)
	for _, line := range own.Lines() {
		if line.Deny && denies(line, g) {
			return "", fmt.Errorf("line %d denies it, and a denial counts before every grant: %s", line.Line, line)
		}
	}
	if own.Includes(g) {
		return "", ErrGranted
	}
	for _, ceiling := range old.Ceilings() {
		lines := ceiling.Lines()
		family := slices.ContainsFunc(lines, func(c grant.Grant) bool { return c.Family == g.Family && !c.Deny })
		exact := !strings.ContainsAny(g.String(), "*{") && (g.Family == grant.FS || g.Family == grant.Net)
		switch {
		case ceiling.Includes(g):
		case !family, exact:
			return "", errors.New("max_grants does not reach it, so that the line would allow nothing: change max_grants first")
		default:
			note = "max_grants bounds it further"
		}
	}
	return note, nil
}

// denies reports whether a deny line covers all of g.
func denies(line, g grant.Grant) bool {
	line.Deny = false
	return grant.NewSet(line).Includes(g)
}

// withGrant returns the file with one line added, and an error if its meaning changed otherwise. The line is YAML.
func withGrant(data []byte, plugin, line string) ([]byte, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return nil, fmt.Errorf("it is written with braces: add %q to plugins.%s.grants by hand", line, plugin)
	}
	root, err := strictyaml.Parse(data, limits)
	if err != nil {
		return nil, err
	}
	after, spliced := spliced(data, root, plugin, line)
	if !spliced || onlyAdded(data, after, plugin, grant.Unquote(line)) != nil {
		return nil, fmt.Errorf("it is written in a way that is not understood: add %q to plugins.%s.grants by hand", line, plugin)
	}
	return after, nil
}

// onlyAdded checks that two files differ in meaning by one added grant only.
func onlyAdded(before, after []byte, plugin, line string) error {
	return differOnly(before, after, plugin, "grants: "+line)
}

// differOnly checks that two files differ in meaning by values of one plugin only, each "NAME: TEXT".
func differOnly(before, after []byte, plugin string, values ...string) error {
	a, err := sayings(before)
	if err != nil {
		return err
	}
	b, err := sayings(after)
	if err != nil {
		return err
	}
	a.plugins[plugin] = slices.Sorted(slices.Values(append(slices.Clone(a.plugins[plugin]), values...)))
	if !reflect.DeepEqual(a, b) {
		return errors.New("something else was changed")
	}
	return nil
}

// saying is the meaning of a file without its formatting.
type saying struct {
	host    map[string]any
	ceiling string
	plugins map[string][]string // sorted
}

func sayings(data []byte) (saying, error) {
	s := saying{plugins: map[string][]string{}}
	root, err := strictyaml.Parse(data, limits)
	if err != nil {
		return s, err
	}
	s.host = hostMap(root)
	if root != nil {
		if _, value := root.Member(sourcesKey); value != nil {
			s.host[sourcesKey] = hostValue(value)
		}
	}
	ceiling, err := readCeiling(root)
	if err != nil {
		return s, err
	}
	s.ceiling = ceiling.String()
	plugins, err := readPlugins(root, nil)
	for _, p := range plugins {
		s.plugins[p.Name] = []string{}
		for _, w := range p.Written {
			s.plugins[p.Name] = append(s.plugins[p.Name], w.Name+": "+w.Text)
		}
		slices.Sort(s.plugins[p.Name])
	}
	return s, err
}

// difference returns the lines removed, each behind "- ", and those added, behind "+ ", of texts that differ at one
// place.
func difference(before, after string) (lines []string) {
	a, b := linesOf(before), linesOf(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for _, line := range a {
		lines = append(lines, "- "+line)
	}
	for _, line := range b {
		lines = append(lines, "+ "+line)
	}
	return lines
}

// linesOf splits a text into lines without their line ends.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}
