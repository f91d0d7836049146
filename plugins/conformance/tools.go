package main

import (
	_ "embed"
	"encoding/json"
	"time"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

var (
	// pixel is an image of one red pixel.
	//go:embed pixel.png
	pixel []byte
	// beep is an audio file of 10 ms.
	//go:embed beep.wav
	beep []byte
)

// pause is the interval between notifications that the suite requires.
const pause = 50 * time.Millisecond

func tools() []sallyport.Item {
	return []sallyport.Item{
		sallyport.Tool("test_simple_text", "Returns one text.", simpleText),
		sallyport.Tool("test_image_content", "Returns an image.", imageContent),
		sallyport.Tool("test_audio_content", "Returns a sound.", audioContent),
		sallyport.Tool("test_embedded_resource", "Returns a resource, in place.", embeddedResource),
		sallyport.Tool("test_multiple_content_types", "Returns a text, an image and a resource.", multipleTypes),
		sallyport.Tool("test_error_handling", "Always fails.", errorHandling),
		sallyport.Tool("test_tool_with_progress", "Reports progress three times.", withProgress),
		sallyport.Tool("test_tool_with_logging", "Logs three times.", withLogging),
		sallyport.Tool("test_logging_tool", "Logs once.", loggingTool),
		sallyport.Tool("test_reconnection", "Gives the connection back before it answers.", reconnection),
		sallyport.Tool("test_x_mcp_header", "Takes an argument that a header mirrors.", headerTool),
		sallyport.RawTool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", schema2020, rawTool),
	}
}

func simpleText(*sallyport.Call, sallyport.None) (string, error) {
	return "This is a simple text response for testing.", nil
}

func imageContent(*sallyport.Call, sallyport.None) (sallyport.Content, error) {
	return sallyport.Image(pixel, "image/png"), nil
}

func audioContent(*sallyport.Call, sallyport.None) (sallyport.Content, error) {
	return sallyport.Audio(beep, "audio/wav"), nil
}

func embeddedResource(*sallyport.Call, sallyport.None) (sallyport.Content, error) {
	return sallyport.Embed(sallyport.Contents{
		URI: "test://embedded-resource", MIMEType: "text/plain",
		Text: "This is an embedded resource content.",
	}), nil
}

func multipleTypes(*sallyport.Call, sallyport.None) ([]sallyport.Content, error) {
	return []sallyport.Content{
		sallyport.Text("Multiple content types test:"),
		sallyport.Image(pixel, "image/png"),
		sallyport.Embed(sallyport.Contents{
			URI: "test://mixed-content-resource", MIMEType: "application/json",
			Text: `{"test":"data","value":123}`,
		}),
	}, nil
}

func errorHandling(*sallyport.Call, sallyport.None) (sallyport.Result, error) {
	text := sallyport.Text("This tool intentionally returns an error for testing")
	return sallyport.Result{Content: []sallyport.Content{text}, IsError: true}, nil
}

func withProgress(c *sallyport.Call, _ sallyport.None) (string, error) {
	c.Progress(0, 100, "started")
	time.Sleep(pause)
	c.Progress(50, 100, "half done")
	time.Sleep(pause)
	c.Progress(100, 100, "done")
	return "Progress was reported three times.", nil
}

func withLogging(c *sallyport.Call, _ sallyport.None) (string, error) {
	c.Info("Tool execution started")
	time.Sleep(pause)
	c.Info("Tool processing data")
	time.Sleep(pause)
	c.Info("Tool execution completed")
	return "Three messages were logged.", nil
}

func loggingTool(c *sallyport.Call, _ sallyport.None) (string, error) {
	c.Info("This message is for those who set a log level")
	return "One message was logged.", nil
}

func reconnection(c *sallyport.Call, _ sallyport.None) (string, error) {
	c.Release()
	time.Sleep(2 * pause)
	return "The answer came on another connection.", nil
}

type headerArgs struct {
	Region string `json:"region" doc:"where to run it" header:"Region"`
}

func headerTool(_ *sallyport.Call, a headerArgs) (string, error) {
	return "The region is " + a.Region + ".", nil
}

// schema2020 is the schema of the suite's scenario json-schema-2020-12. It must reach clients unchanged.
const schema2020 = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    }
  },
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}`

func rawTool(_ *sallyport.Call, args json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(sallyport.Result{Content: []sallyport.Content{sallyport.Text("Received " + string(args))}})
}
