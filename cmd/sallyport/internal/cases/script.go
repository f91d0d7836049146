package cases

import (
	"encoding/json"
	"fmt"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Capabilities are those of a client that answers as a case does.
const Capabilities = `{"elicitation":{"form":{}},"sampling":{},"roots":{}}`

// Script gives the answers of a case in their order.
type Script struct {
	answers []json.RawMessage
	model   []string
	roots   []string
}

// Script returns the answers of a case, all of them still to be given.
func (c *Case) Script() *Script { return &Script{answers: c.Answers, model: c.Model, roots: c.Roots} }

// Answer returns the answer to a question of the plugin.
func (s *Script) Answer(method string, params json.RawMessage) (json.RawMessage, error) {
	switch {
	case method == "roots/list":
		return s.folders(), nil
	case method == "sampling/createMessage" && len(s.model) > 0:
		text := s.model[0]
		s.model = s.model[1:]
		return fmt.Appendf(nil, `{"role":"assistant","model":"case","content":{"type":"text","text":%s}}`, jsonraw.AppendString(nil, text)), nil
	case method == "elicitation/create" && len(s.answers) > 0:
		answer := s.answers[0]
		s.answers = s.answers[1:]
		if action, ok := jsonraw.String(answer); ok {
			return fmt.Appendf(nil, `{"action":%q}`, action), nil
		}
		return fmt.Appendf(nil, `{"action":"accept","content":%s}`, answer), nil
	}
	message, _ := jsonraw.String(jsonraw.Get(params, "message"))
	return nil, fmt.Errorf("the plugin makes the request %s %q, for which the case has no answer left", method, message)
}

// Left returns the number of answers that were not asked for.
func (s *Script) Left() int { return len(s.answers) + len(s.model) }

func (s *Script) folders() json.RawMessage {
	all := make([]json.RawMessage, 0, len(s.roots))
	for _, uri := range s.roots {
		all = append(all, jsonraw.Object{{Key: "uri", Value: jsonraw.AppendString(nil, uri)}}.Append(nil))
	}
	return jsonraw.Object{{Key: "roots", Value: jsonraw.Array(all)}}.Append(nil)
}
