package main

import (
	"strings"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

func prompts() []sallyport.Item {
	return []sallyport.Item{
		sallyport.Prompt("test_simple_prompt", "A prompt without arguments.", simplePrompt),
		sallyport.Prompt("test_prompt_with_arguments", "A prompt with two arguments.", promptWithArguments,
			sallyport.Completion("arg1", completeArg1)),
		sallyport.Prompt("test_prompt_with_embedded_resource", "A prompt that holds a resource.", promptWithResource),
		sallyport.Prompt("test_prompt_with_image", "A prompt that holds an image.", promptWithImage),
		sallyport.Prompt("test_input_required_result_prompt", "A prompt that asks first.", promptWithQuestion),
	}
}

func simplePrompt(*sallyport.Call, sallyport.None) (string, error) {
	return "This is a simple prompt for testing.", nil
}

type twoArgs struct {
	Arg1 string `json:"arg1" doc:"First test argument"`
	Arg2 string `json:"arg2" doc:"Second test argument"`
}

func promptWithArguments(_ *sallyport.Call, a twoArgs) (string, error) {
	return "Prompt with arguments: arg1='" + a.Arg1 + "', arg2='" + a.Arg2 + "'", nil
}

func completeArg1(_ *sallyport.Call, typed string) ([]string, error) {
	var fit []string
	for _, v := range []string{"paris", "park", "party"} {
		if strings.HasPrefix(v, typed) {
			fit = append(fit, v)
		}
	}
	return fit, nil
}

type resourceArgs struct {
	URI string `json:"resourceUri" doc:"URI of the resource to embed"`
}

func promptWithResource(_ *sallyport.Call, a resourceArgs) ([]sallyport.Message, error) {
	return []sallyport.Message{
		sallyport.User(sallyport.Embed(sallyport.Contents{
			URI: a.URI, MIMEType: "text/plain", Text: "Embedded resource content for testing.",
		})),
		sallyport.User(sallyport.Text("Please process the embedded resource above.")),
	}, nil
}

func promptWithImage(*sallyport.Call, sallyport.None) ([]sallyport.Message, error) {
	return []sallyport.Message{
		sallyport.User(sallyport.Image(pixel, "image/png")),
		sallyport.User(sallyport.Text("Please analyze the image above.")),
	}, nil
}
