package jsonschema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// translator converts the library's schema graph to rules.
type translator struct {
	rules   map[*jsonschema.Schema]*rule
	queue   []*jsonschema.Schema
	dynamic bool
	exact   bool // see Options
	marks   bool // unevaluatedProperties or unevaluatedItems may be used
}

// rule returns the rule of s, which finish will complete.
func (t *translator) rule(s *jsonschema.Schema) *rule {
	if s == nil {
		return nil
	}
	r := t.rules[s]
	if r == nil {
		r = &rule{}
		t.rules[s] = r
		t.queue = append(t.queue, s)
	}
	return r
}

func (t *translator) list(schemas []*jsonschema.Schema) []*rule {
	var rules []*rule
	for _, s := range schemas {
		rules = append(rules, t.rule(s))
	}
	return rules
}

// either converts an any of the library that is nil, a bool or a schema.
func (t *translator) either(v any) *rule {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return t.rule(v)
	case bool:
		return &rule{never: !v}
	}
	return nil
}

// finish completes all rules, including those it discovers.
func (t *translator) finish() {
	for len(t.queue) > 0 {
		s := t.queue[len(t.queue)-1]
		t.queue = t.queue[:len(t.queue)-1]
		t.fill(t.rules[s], s)
	}
}

func (t *translator) fill(r *rule, s *jsonschema.Schema) {
	if s.Bool != nil {
		r.never = !*s.Bool
		return
	}
	r.anchor = s.DynamicAnchor
	if s.Types != nil {
		r.typed, r.types = true, kinds(s.Types)
	}
	if s.Enum != nil {
		r.options = newOptions(s.Enum.Values)
	}
	if s.Const != nil {
		r.constant = newOptions([]any{*s.Const})
	}
	r.ref, r.scoped = t.rule(s.Ref), t.scoped(s)
	r.object, r.array, r.text, r.number = t.object(s), t.array(s), newText(s), newNumber(s)
	r.combined = t.combined(s)
	r.leftFields, r.leftItems = t.rule(s.UnevaluatedProperties), t.rule(s.UnevaluatedItems)
}

func (t *translator) scoped(s *jsonschema.Schema) *scopedRefs {
	if s.RecursiveRef == nil && s.DynamicRef == nil {
		return nil
	}
	t.dynamic = true
	refs := &scopedRefs{recursive: t.rule(s.RecursiveRef)}
	if d := s.DynamicRef; d != nil {
		refs.dynamic = &dynamicRef{t.rule(d.Ref), d.Anchor}
	}
	return refs
}

func (t *translator) combined(s *jsonschema.Schema) *combinedRule {
	c := combinedRule{
		not: t.rule(s.Not), allOf: t.list(s.AllOf), anyOf: t.list(s.AnyOf), oneOf: t.list(s.OneOf),
		when: t.rule(s.If), then: t.rule(s.Then), otherwise: t.rule(s.Else),
	}
	if c.then == nil && c.otherwise == nil && !t.marks {
		c.when = nil // no effect, and no marks are needed
	}
	if c.not == nil && c.allOf == nil && c.anyOf == nil && c.oneOf == nil && c.when == nil {
		return nil // most schemas: without an allocation
	}
	kept := c
	return &kept
}

// kinds converts a set of types. number includes integers.
func kinds(types *jsonschema.Types) kind {
	var set kind
	for _, name := range types.ToStrings() {
		set |= 1 << slices.Index(kindNames[:], name)
	}
	return set
}

func newOptions(values []any) *options {
	o := &options{keys: make(map[string]struct{}, len(values))}
	var x index
	var texts []string
	for _, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			continue // impossible, it was decoded from JSON
		}
		if v, err := x.build(raw); err == nil {
			o.keys[string(x.appendKey(nil, v))] = struct{}{}
		}
		texts = append(texts, shown(raw))
	}
	o.text = enumText(texts)
	return o
}

// maxNamed is the maximum number of allowed values in a message.
const maxNamed = 10

func enumText(texts []string) string {
	switch len(texts) {
	case 0:
		return "nothing"
	case 1:
		return texts[0]
	}
	if len(texts) > maxNamed {
		return "one of " + strings.Join(texts[:maxNamed], ", ") + ", …"
	}
	return "one of " + list(texts)
}

func (t *translator) object(s *jsonschema.Schema) *objectRule {
	o := &objectRule{
		required:     unique(s.Required),
		patterns:     t.patterns(s),
		additional:   t.either(s.AdditionalProperties),
		names:        t.rule(s.PropertyNames),
		min:          atLeast(s.MinProperties),
		max:          atMost(s.MaxProperties),
		dependencies: t.dependencies(s),
	}
	o.fields = make(map[string]field, len(s.Properties))
	for key, p := range s.Properties {
		o.fields[key] = field{rule: t.rule(p)}
	}
	for i, key := range o.required {
		f := o.fields[key]
		f.required = i + 1
		o.fields[key] = f
	}
	o.folded = t.folded(o.fields)
	if len(o.fields) == 0 && o.patterns == nil && o.additional == nil && o.names == nil &&
		o.min == 0 && o.max < 0 && o.dependencies == nil {
		return nil
	}
	return o
}

// folded returns the names of fields by folded name, or nil without Options.Exact.
func (t *translator) folded(fields map[string]field) map[string]string {
	if !t.exact || len(fields) == 0 {
		return nil
	}
	names := make(map[string]string, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		names[jsonraw.Fold(name)] = name
	}
	return names
}

// unique returns list without duplicates, in the same order.
func unique(list []string) []string {
	var once []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			once = append(once, s)
		}
	}
	return once
}

func (t *translator) patterns(s *jsonschema.Schema) []patternRule {
	var rules []patternRule
	for re, schema := range s.PatternProperties {
		if p, ok := re.(*pattern); ok {
			rules = append(rules, patternRule{p, t.rule(schema)})
		} else { // a meta-schema, compiled by the library with Go's regexp
			compiled, _ := (&patterns{known: map[string]*pattern{}}).compile(re.String())
			rules = append(rules, patternRule{compiled.(*pattern), t.rule(schema)})
		}
	}
	slices.SortFunc(rules, func(a, b patternRule) int { return strings.Compare(a.pattern.source, b.pattern.source) })
	return rules
}

// dependencies returns those of old and new drafts in one form.
func (t *translator) dependencies(s *jsonschema.Schema) []dependency {
	var list []dependency
	for _, key := range slices.Sorted(maps.Keys(s.Dependencies)) {
		switch d := s.Dependencies[key].(type) {
		case []string:
			list = append(list, dependency{key: key, required: d})
		case *jsonschema.Schema:
			list = append(list, dependency{key: key, rule: t.rule(d)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.DependentRequired)) {
		list = append(list, dependency{key: key, required: s.DependentRequired[key]})
	}
	for _, key := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		list = append(list, dependency{key: key, rule: t.rule(s.DependentSchemas[key])})
	}
	return list
}

func (t *translator) array(s *jsonschema.Schema) *arrayRule {
	a := &arrayRule{
		min: atLeast(s.MinItems), max: atMost(s.MaxItems), unique: s.UniqueItems,
		contains: t.rule(s.Contains), minHas: 1, maxHas: atMost(s.MaxContains), containsMarks: s.DraftVersion >= 2020,
	}
	if s.MinContains != nil {
		a.minHas = *s.MinContains
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		a.rest = t.rule(items)
	case []*jsonschema.Schema:
		a.prefix, a.rest = t.list(items), t.either(s.AdditionalItems)
	}
	if s.DraftVersion >= 2020 {
		a.prefix, a.rest = t.list(s.PrefixItems), t.rule(s.Items2020)
	}
	if a.prefix == nil && a.rest == nil && a.min == 0 && a.max < 0 && !a.unique && a.contains == nil {
		return nil
	}
	return a
}

func newText(s *jsonschema.Schema) *textRule {
	t := &textRule{min: atLeast(s.MinLength), max: atMost(s.MaxLength)}
	switch p := s.Pattern.(type) {
	case nil:
	case *pattern:
		t.pattern = p
	default: // a meta-schema, as above
		t.pattern = &pattern{source: p.String()}
		t.pattern.re, _ = compilePattern(p.String())
	}
	if t.min == 0 && t.max < 0 && t.pattern == nil {
		return nil
	}
	return t
}

func newNumber(s *jsonschema.Schema) *numberRule {
	n := &numberRule{
		min: newBound(s.Minimum), max: newBound(s.Maximum),
		over: newBound(s.ExclusiveMinimum), under: newBound(s.ExclusiveMaximum),
		multiple: newBound(s.MultipleOf),
	}
	if *n == (numberRule{}) {
		return nil
	}
	return n
}

func newBound(r *big.Rat) *bound {
	if r == nil {
		return nil
	}
	n, text := decimalOfRat(r)
	return &bound{number: n, text: shown(text)}
}

func atLeast(n *int) int {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}

func atMost(n *int) int {
	if n == nil {
		return -1
	}
	return max(*n, 0)
}
