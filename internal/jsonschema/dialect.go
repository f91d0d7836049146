package jsonschema

import (
	"slices"
	"strings"
)

// isDialect reports whether a $schema names a supported dialect.
func isDialect(name string) bool {
	name = strings.TrimSuffix(name, "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	return slices.Contains(dialects, name)
}

var dialects = []string{
	"json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema", "json-schema.org/schema",
	"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema",
}

// isDialectPart reports whether a URL may be a meta-schema embedded in the library.
func isDialectPart(u string) bool {
	u = strings.TrimPrefix(strings.TrimPrefix(u, "https://"), "http://")
	return isDialect(u) || strings.HasPrefix(u, "json-schema.org/draft/2020-12/meta/") ||
		strings.HasPrefix(u, "json-schema.org/draft/2019-09/meta/")
}
