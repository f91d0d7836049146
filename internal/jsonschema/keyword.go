package jsonschema

// position is the kind of value of a keyword.
type position uint8

const (
	notSchema   position = iota
	oneSchema            // a schema
	schemaList           // an array of schemas
	schemaMap            // an object of schemas
	schemaOrArr          // a schema, or an array of schemas
	counted              // a count
)

// keywords of all dialects. Extra positions only make the limits slightly stricter.
var keywords = map[string]position{
	"not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema, "contains": oneSchema,
	"propertyNames": oneSchema, "additionalProperties": oneSchema, "additionalItems": oneSchema,
	"unevaluatedProperties": oneSchema, "unevaluatedItems": oneSchema, "contentSchema": oneSchema,
	"allOf": schemaList, "anyOf": schemaList, "oneOf": schemaList, "prefixItems": schemaList,
	"items":       schemaOrArr,
	"definitions": schemaMap, "$defs": schemaMap, "properties": schemaMap, "patternProperties": schemaMap,
	"dependentSchemas": schemaMap, "dependencies": schemaMap,
	"minLength": counted, "maxLength": counted, "minItems": counted, "maxItems": counted,
	"minProperties": counted, "maxProperties": counted, "minContains": counted, "maxContains": counted,
}
