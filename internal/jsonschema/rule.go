package jsonschema

// rule is one subschema in the form for the evaluator. Absent keywords are nil and cost nothing.
type rule struct {
	never      bool // the schema false
	typed      bool
	types      kind
	options    *options // enum
	constant   *options // const
	object     *objectRule
	array      *arrayRule
	text       *textRule
	number     *numberRule
	ref        *rule
	scoped     *scopedRefs
	combined   *combinedRule
	leftFields *rule // unevaluatedProperties
	leftItems  *rule // unevaluatedItems

	resource *resource
	anchor   string // $dynamicAnchor
}

// options are the values allowed by an enum or a const.
type options struct {
	keys map[string]struct{} // index.appendKey of each
	text string              // for messages
}

// combinedRule applies subschemas to the value itself.
type combinedRule struct {
	not       *rule
	allOf     []*rule
	anyOf     []*rule
	oneOf     []*rule
	when      *rule // if
	then      *rule
	otherwise *rule // else
}

// scopedRefs are references whose target depends on the dynamic scope.
type scopedRefs struct {
	recursive *rule // $recursiveRef
	dynamic   *dynamicRef
}

type dynamicRef struct {
	target *rule
	anchor string
}

// resource is a schema with its own $id, in the dynamic scope.
type resource struct {
	root      *rule
	recursive bool             // $recursiveAnchor
	anchors   map[string]*rule // $dynamicAnchor
}

type objectRule struct {
	fields       map[string]field  // properties, and required names without one
	folded       map[string]string // keys of fields by folded name; nil without Options.Exact
	required     []string
	patterns     []patternRule
	additional   *rule
	names        *rule
	min, max     int // max < 0: none
	dependencies []dependency
}

// field is the rule for one key of an object.
type field struct {
	rule     *rule
	required int // 1 + index in objectRule.required; 0 if not required
}

type patternRule struct {
	pattern *pattern
	rule    *rule
}

// dependency applies if key is present.
type dependency struct {
	key      string
	required []string
	rule     *rule
}

type arrayRule struct {
	prefix        []*rule
	rest          *rule
	min, max      int // max < 0: none
	unique        bool
	contains      *rule
	minHas        int
	maxHas        int  // < 0: none
	containsMarks bool // items matched by contains count as evaluated (since 2020-12)
}

type textRule struct {
	min, max int // max < 0: none
	pattern  *pattern
}

type numberRule struct {
	min, max, over, under, multiple *bound
}

// bound is a numeric limit in the schema.
type bound struct {
	number decimal
	text   string
}
