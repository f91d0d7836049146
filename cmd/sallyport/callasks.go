package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/ui"
	"github.com/sallyport-mcp/sallyport/hostfuncs/consent/elicit"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// maxRounds is the limit of elicitation rounds per call.
const maxRounds = 50

// answers holds the responses of one round, and the server's requestState.
type answers struct {
	state     json.RawMessage
	responses jsonraw.Object
}

// askPerson asks the questions of an input_required result; asked is false for a final result.
func askPerson(ctx context.Context, person *ui.Terminal, result json.RawMessage) (a answers, asked bool, err error) {
	if kind, _ := jsonraw.String(jsonraw.Get(result, "resultType")); kind != "input_required" {
		return a, false, nil
	}
	questions, err := jsonraw.ParseObject(jsonraw.Get(result, "inputRequests"))
	if err != nil || person == nil {
		return a, true, errors.Join(errors.New("the tool asks a question that this command cannot answer"), err)
	}
	a.state = jsonraw.Get(result, "requestState")
	for _, q := range questions {
		if method, _ := jsonraw.String(jsonraw.Get(q.Value, "method")); method != "elicitation/create" {
			return a, true, fmt.Errorf("the tool asks for %s, which this command did not offer", ui.Line(method))
		}
		answer, err := atTerminal(ctx, person, elicit.Form{Params: jsonraw.Get(q.Value, "params")})
		if err != nil {
			return a, true, err
		}
		a.responses.Set(q.Key, answer)
	}
	return a, true, nil
}

// withAnswers adds the responses of a round to the params of the next request.
func withAnswers(params json.RawMessage, a answers) json.RawMessage {
	o, _ := jsonraw.ParseObject(params) // valid, from callParams
	o.Set("inputResponses", a.responses.Append(nil))
	if a.state != nil {
		o.Set("requestState", a.state)
	}
	return o.Append(nil)
}

// atTerminal shows a form and reads its fields. A no is decline, the end of input cancel.
func atTerminal(ctx context.Context, person *ui.Terminal, f elicit.Form) (json.RawMessage, error) {
	text := "the plugin asks you, in its own words:\n" + strings.Join(formLines(f), "\n")
	for {
		yes, err := person.Confirm(ctx, text, "answer it?")
		if err != nil {
			return nil, err
		}
		if !yes {
			return json.RawMessage(`{"action":"decline"}`), nil
		}
		values, err := typedValues(ctx, person, f.Fields())
		if errors.Is(err, io.EOF) {
			return json.RawMessage(`{"action":"cancel"}`), nil
		}
		if err != nil {
			return nil, err
		}
		content, err := f.Fill(values, true)
		if err == nil {
			return append(append(json.RawMessage(`{"action":"accept","content":`), content...), '}'), nil
		}
		text = "that does not fit: " + ui.Line(err.Error())
	}
}

// typedValues reads one line per field, and for a list lines up to an empty one. A field left empty has the form's
// default.
func typedValues(ctx context.Context, person *ui.Terminal, fields []elicit.Field) (values []elicit.Value, err error) {
	for _, field := range fields {
		prompt := ui.Line(field.Name) + "= "
		for {
			line, err := person.Line(ctx, prompt)
			if err != nil {
				return nil, err
			}
			if line != "" {
				values = append(values, elicit.Value{Name: field.Name, Text: line})
			}
			if line == "" || field.Type != "array" {
				break
			}
		}
	}
	return values, nil
}
