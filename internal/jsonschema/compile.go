package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// Options configure Compile. Nil is the zero value.
type Options struct {
	// Warn receives the parts of the schema that are not enforced. It may be nil.
	Warn func(msg string)
	// Exact refuses members that are case variants of a property. A case-insensitive reader would accept them as
	// the property, unchecked.
	Exact bool
}

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema struct {
	root    *rule
	dynamic bool      // uses the dynamic scope
	idle    sync.Pool // idle evaluators, for their memory
}

// Check validates a schema without compiling it: size, depth, number of subschemas, dialect and external
// references. A schema that passes may still fail to compile. The error is a *SchemaError, or a
// *jsonraw.SyntaxError if raw is not JSON.
func Check(raw json.RawMessage) error {
	_, err := check(raw)
	return err
}

// check returns the decoded schema, made safe for the library.
func check(raw json.RawMessage) (*census, error) {
	c, err := takeCensus(raw)
	if p := (*problem)(nil); errors.As(err, &p) {
		return nil, &SchemaError{p.Pointer, p.Text}
	} else if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return c, nil
}

// Compile prepares a schema for validation. It loads nothing, and takes a bounded number of steps on any input. The
// error is a *SchemaError, or a *jsonraw.SyntaxError if raw is not JSON.
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
		if fault := recover(); fault != nil { // a library panic on untrusted input
			s, err = nil, &SchemaError{"", fmt.Sprintf("cannot be compiled: %v", fault)}
		}
	}()
	compiler := newCompiler(o, maxCompiled)
	if err := compiler.AddResource(baseURL, c.Root); err != nil {
		return nil, compileError(raw, c, err)
	}
	root, err := compiler.Compile(baseURL)
	if err != nil {
		return nil, compileError(raw, c, err)
	}
	t := translator{rules: map[*jsonschema.Schema]*rule{}, exact: o.Exact, marks: asksMarks(raw)}
	s = &Schema{root: t.rule(root)}
	t.finish()
	if s.dynamic = t.dynamic; s.dynamic {
		t.scopes(compiler, c)
	}
	return s, nil
}

// asksMarks reports whether a schema may contain unevaluatedProperties or unevaluatedItems, including escaped
// spellings.
func asksMarks(raw []byte) bool {
	return bytes.Contains(raw, []byte("unevaluated")) || bytes.Contains(raw, []byte(`\u`))
}

func newCompiler(o *Options, steps int) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	p := &patterns{warn: o.Warn, known: map[string]*pattern{}}
	c.UseRegexpEngine(p.compile)
	c.RegisterVocabulary(counter(steps))
	c.AssertVocabs()
	return c
}

// noLoader refuses all documents. The library calls it for everything except its embedded meta-schemas.
type noLoader struct{}

// Load returns an error.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("external reference %q is not loaded", sanitize.Cut(url, maxShown))
}

// counter returns a vocabulary without keywords. The library compiles it into each subschema, which allows counting
// them and ending the compilation.
func counter(steps int) *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: baseURL + "counter",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			if steps--; steps < 0 {
				return nil, errors.New("takes too many steps to compile")
			}
			return nil, nil
		},
	}
}

// compileError converts an error of the library to one sentence.
func compileError(raw json.RawMessage, c *census, err error) error {
	if invalid := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &invalid) {
		if err := metaError(raw, c); err != nil {
			return err
		}
		return &SchemaError{"", "is no valid schema"}
	}
	if load := (*jsonschema.LoadURLError)(nil); errors.As(err, &load) {
		return &SchemaError{"", load.Err.Error()}
	}
	text := strings.ReplaceAll(err.Error(), baseURL, "")
	return &SchemaError{"", strings.Join(strings.Fields(text), " ")}
}

// Valid is Check plus validation by the dialect's meta-schema, so that a schema that passes also compiles. It is
// cheap for schemas without references.
func Valid(raw json.RawMessage) error {
	c, err := check(raw)
	if err != nil {
		return err
	}
	if err := metaError(raw, c); err != nil {
		return err
	}
	for _, key := range [...]string{`"$ref`, `"$dyn`, `"$rec`, `"$anchor`, `"$id`, `"id`, `\u`} {
		if bytes.Contains(raw, []byte(key)) {
			_, err := compileChecked(raw, c, &Options{})
			return err
		}
	}
	return nil
}

// metaError returns the violation of the meta-schema found by our own evaluator, or nil if the schema conforms.
func metaError(raw json.RawMessage, c *census) error {
	dialect := "https://json-schema.org/draft/2020-12/schema"
	if o, ok := c.Root.(map[string]any); ok {
		if name, ok := o["$schema"].(string); ok && name != "" {
			dialect = strings.TrimSuffix(name, "#")
		}
	}
	meta, err := metaSchema(dialect)
	if err != nil {
		return err
	}
	if invalid := (*ValidationError)(nil); errors.As(meta.Validate(raw), &invalid) {
		return &SchemaError{invalid.Pointer, "is no valid schema: " + invalid.Message}
	}
	return nil
}

// metaSchemas are those of the dialects, compiled once.
var metaSchemas sync.Map

func metaSchema(dialect string) (*Schema, error) {
	if known, ok := metaSchemas.Load(dialect); ok {
		return known.(*Schema), nil
	}
	s, err := Compile(json.RawMessage(`{"$ref":`+string(jsonraw.AppendString(nil, dialect))+`}`), nil)
	if err == nil { // bounded by the dialects of the census
		metaSchemas.Store(dialect, s)
	}
	return s, err
}
