package result

import (
	"encoding/json"
	"strconv"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
)

// maxCompletions is the specification's limit of values per completion.
const maxCompletions = 100

// Completion parses the answer to completion/complete. It keeps the first hundred values, cleaned.
func Completion(raw json.RawMessage) (jsonraw.Object, error) {
	o, err := parse(raw)
	if err != nil {
		return nil, err
	}
	completion := o.Get("completion")
	if !jsonraw.IsObject(completion) {
		return nil, misshapen("completion must be an object")
	}
	values, err := completionValues(completion)
	if err != nil {
		return nil, err
	}
	c, err := jsonraw.ParseObject(completion)
	if err != nil {
		return nil, misshapen("completion: %v", err)
	}
	if total := c.Get("total"); !jsonraw.IsInteger(total) {
		c.Delete("total")
	}
	if more := string(c.Get("hasMore")); more != "true" && more != "false" {
		c.Delete("hasMore")
	}
	if len(values) > maxCompletions {
		cutCompletion(&c, values)
	}
	ownMembers(&o)
	cleaned, _ := sanitize.JSON(c.Append(nil), nil)
	o.Set("completion", cleaned)
	return o, nil
}

func completionValues(completion json.RawMessage) ([]json.RawMessage, error) {
	values, err := jsonraw.Elements(jsonraw.Get(completion, "values"))
	if err != nil {
		return nil, misshapen("completion.values must be an array")
	}
	for i, v := range values {
		if !jsonraw.IsString(v) {
			return nil, misshapen("completion.values[%d] must be a string", i)
		}
	}
	return values, nil
}

func cutCompletion(c *jsonraw.Object, values []json.RawMessage) {
	c.Set("values", jsonraw.Array(values[:maxCompletions]))
	c.Set("hasMore", json.RawMessage("true"))
	if c.Get("total") == nil {
		c.Set("total", strconv.AppendInt(nil, int64(len(values)), 10))
	}
}

// NoCompletion returns an empty completion.
func NoCompletion() jsonraw.Object {
	return jsonraw.Object{{Key: "completion", Value: json.RawMessage(`{"values":[]}`)}}
}
