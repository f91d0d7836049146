package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-mcp/sallyport/protocol/rawjson"
)

// baseURL is what a schema without an $id is called. Nothing can be loaded from there.
const baseURL = "schema:///"

// Options of Compile. Nil is the zero value.
type Options struct {
	// Warn hears of what in the schema is not enforced. Nil means that nobody listens.
	Warn func(msg string)
}

// Schema is a compiled schema. It does not change, and any number of goroutines may use it.
type Schema struct {
	root    *rule
	dynamic bool      // some rule is found through the dynamic scope
	idle    sync.Pool // evaluators without work, for their memory
}

// Compile prepares a schema for validation. It never loads anything, and ends within seconds on
// any input. The error is a *SchemaError, or a *rawjson.SyntaxError if raw is not JSON.
func Compile(raw json.RawMessage, o *Options) (*Schema, error) {
	c, err := check(raw)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	return compileChecked(raw, c, o)
}

func compileChecked(raw json.RawMessage, c *census, o *Options) (s *Schema, err error) {
	defer func() {
		if fault := recover(); fault != nil { // the library's, on a stranger's input
			s, err = nil, &SchemaError{"", fmt.Sprintf("cannot be compiled: %v", fault)}
		}
	}()
	compiler := newCompiler(o, time.Now().Add(maxCompileTime))
	if err := compiler.AddResource(baseURL, c.root); err != nil {
		return nil, compileError(raw, c, err)
	}
	root, err := compiler.Compile(baseURL)
	if err != nil {
		return nil, compileError(raw, c, err)
	}
	t := translator{rules: map[*jsonschema.Schema]*rule{}}
	s = &Schema{root: t.rule(root)}
	t.finish()
	if s.dynamic = t.dynamic; s.dynamic {
		t.scopes(compiler, c)
	}
	return s, nil
}

func newCompiler(o *Options, end time.Time) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	p := &patterns{warn: o.Warn, known: map[string]*pattern{}}
	c.UseRegexpEngine(p.compile)
	c.RegisterVocabulary(stopwatch(end))
	c.AssertVocabs()
	return c
}

// noLoader refuses all documents. The library asks it for all but its own meta-schemas.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("external reference %q is not loaded", shownString(url))
}

// stopwatch is a vocabulary without keywords. The library compiles it into each subschema, and
// so gives an opportunity to end the compilation.
func stopwatch(end time.Time) *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: baseURL + "stopwatch",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			if time.Now().After(end) {
				return nil, errors.New("takes too long to compile")
			}
			return nil, nil
		},
	}
}

// compileError puts the library's errors into one sentence.
func compileError(raw json.RawMessage, c *census, err error) error {
	if invalid := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &invalid) {
		return metaError(raw, c)
	}
	if load := (*jsonschema.LoadURLError)(nil); errors.As(err, &load) {
		return &SchemaError{"", load.Err.Error()}
	}
	text := strings.ReplaceAll(err.Error(), baseURL, "")
	return &SchemaError{"", strings.Join(strings.Fields(text), " ")}
}

// metaError says what is wrong with a schema that is none, in the words of our own evaluator.
func metaError(raw json.RawMessage, c *census) error {
	unknown := &SchemaError{"", "is no valid schema"}
	dialect := "https://json-schema.org/draft/2020-12/schema"
	if o, ok := c.root.(map[string]any); ok && stringIn(o, "$schema") != "" {
		dialect = strings.TrimSuffix(stringIn(o, "$schema"), "#")
	}
	meta, err := Compile(json.RawMessage(`{"$ref":`+string(rawjson.AppendString(nil, dialect))+`}`), nil)
	if err != nil {
		return unknown
	}
	if invalid := (*ValidationError)(nil); errors.As(meta.Validate(raw), &invalid) {
		return &SchemaError{invalid.Pointer, "is no valid schema: " + invalid.Message}
	}
	return unknown
}
