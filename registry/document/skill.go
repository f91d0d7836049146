package document

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// readSkill returns a document with one skill: its SKILL.md is a resource, and a template serves its other files.
func readSkill(raw []byte, _ string) (*Document, error) {
	skill, err := parseSkill(raw)
	if err != nil {
		return nil, err
	}
	text := func(s string) json.RawMessage { return jsonraw.AppendString(nil, s) }
	resource := jsonraw.Object{
		{Key: "uri", Value: text(skill.URI)}, {Key: "name", Value: text(skill.Name)},
		{Key: "description", Value: text(skill.Description)}, {Key: "mimeType", Value: text("text/markdown")},
	}
	template := jsonraw.Object{
		{Key: "uriTemplate", Value: text("skill://" + skill.Name + "/{+path}")}, {Key: "name", Value: text(skill.Name)},
		{Key: "description", Value: text("Files of the skill " + skill.Name + ".")},
	}
	d, err := newDocument(jsonraw.Object{
		{Key: "resources", Value: json.RawMessage("[" + string(resource.Append(nil)) + "]")},
		{Key: "resourceTemplates", Value: json.RawMessage("[" + string(template.Append(nil)) + "]")},
	}, skill.serve)
	if err == nil {
		d.Skill = skill
	}
	return d, err
}

// codeNotFound is the error code of an unknown resource; package protocol maps it for each protocol version.
const codeNotFound = -32002

// serve answers resources/read.
func (s *Skill) serve(_ string, params json.RawMessage) (json.RawMessage, error) {
	uri, _ := jsonraw.String(jsonraw.Get(params, "uri"))
	f, ok := s.Read(uri)
	if !ok {
		return nil, &runtime.GuestError{Code: codeNotFound, Message: "unknown resource"}
	}
	contents := map[string]any{"uri": f.URI, "mimeType": f.MIMEType, "text": string(f.Data)}
	if !utf8.Valid(f.Data) {
		delete(contents, "text")
		contents["blob"] = f.Data
	}
	return json.Marshal(map[string]any{"contents": []any{contents}})
}
