package result

import (
	"encoding/json"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
)

// Prompt parses the answer to prompts/get.
func Prompt(raw json.RawMessage) (jsonraw.Object, error) {
	o, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if err := eachObject(o, "messages", checkMessage); err != nil {
		return nil, err
	}
	ownMembers(&o)
	cleanMessages(&o)
	return o, nil
}

// Resource parses the answer to resources/read. The contents of resources are not cleaned.
func Resource(raw json.RawMessage) (jsonraw.Object, error) {
	o, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if err := eachObject(o, "contents", checkContents); err != nil {
		return nil, err
	}
	ownMembers(&o)
	cleanContents(&o)
	return o, nil
}
