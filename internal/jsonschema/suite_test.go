package jsonschema_test

import (
	"archive/zip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/internal/jsonschema"
)

// TestValidate_passesThePublicSuite runs the public JSON Schema test suite, except tests with remote documents or
// with format as an assertion.
func TestValidate_passesThePublicSuite(t *testing.T) {
	suite, err := zip.OpenReader("testdata/JSON-Schema-Test-Suite.zip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { suite.Close() })
	for folder, c := range map[string]struct {
		dialect string
		passes  int // tests; the others need external documents
	}{
		"draft2020-12": {"https://json-schema.org/draft/2020-12/schema", 1256},
		"draft2019-09": {"https://json-schema.org/draft/2019-09/schema", 1246},
		"draft7":       {"http://json-schema.org/draft-07/schema#", 908},
		"draft6":       {"http://json-schema.org/draft-06/schema#", 868},
		"draft4":       {"http://json-schema.org/draft-04/schema#", 664},
	} {
		t.Run(folder, func(t *testing.T) {
			passed := 0
			for _, f := range suite.File {
				if strings.HasPrefix(f.Name, "tests/"+folder+"/") && !strings.HasSuffix(f.Name, "zeroTerminatedFloats.json") { // where 1.0 is not an integer
					passed += runFile(t, f.Name, read(t, f), c.dialect)
				}
			}
			t.Logf("%d passed", passed)
			if passed != c.passes {
				t.Errorf("got %d passed, want %d", passed, c.passes)
			}
		})
	}
}

func read(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
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
		s, err := jsonschema.Compile(withDialect(g.Schema, dialect), nil)
		if err != nil {
			if !strings.Contains(err.Error(), "external reference") && !strings.Contains(err.Error(), "unknown dialect") {
				t.Errorf("%s: %s: got %v, want no error", name, g.Description, err)
			}
			continue
		}
		for _, c := range g.Tests {
			if err := s.Validate(c.Data); (err == nil) != c.Valid {
				t.Errorf("%s: %s: %s: got %v, want valid %v", name, g.Description, c.Description, err, c.Valid)
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
