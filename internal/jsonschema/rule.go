package jsonschema

import (
	"github.com/sallyport-mcp/sallyport/internal/jsonschema/decimal"
)

// rule is one subschema in the form that the evaluator wants: what is absent is nil, so that a
// rule costs only what it says.
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
	recursive  *rule // $recursiveRef
	dynamic    *dynamicRef
	combined   bool // some of the fields below are there
	not        *rule
	allOf      []*rule
	anyOf      []*rule
	oneOf      []*rule
	when       *rule // if
	then       *rule
	otherwise  *rule // else
	leftFields *rule // unevaluatedProperties
	leftItems  *rule // unevaluatedItems

	resource *resource
	anchor   string // $dynamicAnchor
}

// options are the values that an enum or a const allows.
type options struct {
	keys map[string]struct{} // index.appendKey of each
	text string              // for messages
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
	fields       map[string]field  // properties, and those that are required without being there
	folded       map[string]string // the keys of fields by what they are in any case; nil if case is not looked at
	required     []string
	patterns     []patternRule
	additional   *rule
	names        *rule
	min, max     int // max < 0: none
	dependencies []dependency
}

// field is what an object's rule says about one key.
type field struct {
	rule     *rule
	required int // 1 + its place in objectRule.required; 0 if it is not there
}

type patternRule struct {
	pattern *pattern
	rule    *rule
}

// dependency applies where the key is present.
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
	containsMarks bool // what contains matched counts as evaluated (from 2020-12 on)
}

type textRule struct {
	min, max int // max < 0: none
	pattern  *pattern
}

type numberRule struct {
	min, max, over, under, multiple *bound
}

// bound is a number of the schema.
type bound struct {
	number decimal.Number
	text   string
}
