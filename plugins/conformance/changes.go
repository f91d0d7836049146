package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

// changes returns tools that change the plugin's lists, and the entries that they show and hide.
func changes() []sallyport.Item {
	return []sallyport.Item{
		sallyport.Tool("test_trigger_tool_change", "Shows one tool more, and takes it away again.", toolChange),
		sallyport.Tool("test_trigger_prompt_change", "Shows one prompt more, and takes it away again.", promptChange),
		sallyport.Tool("test_trigger_resource_update", "Says that the watched resource has changed.", resourceUpdate),
		sallyport.Tool("test_dynamic_tool", "A tool that comes and goes.", simpleText, sallyport.Hidden()),
		sallyport.Prompt("test_dynamic_prompt", "A prompt that comes and goes.", simplePrompt, sallyport.Hidden()),
	}
}

func toolChange(c *sallyport.Call, _ sallyport.None) (string, error) {
	if err := c.ShowTools("test_dynamic_tool"); err != nil {
		return "", err
	}
	return "A tool came and went.", c.HideTools("test_dynamic_tool")
}

func promptChange(c *sallyport.Call, _ sallyport.None) (string, error) {
	if err := c.ShowPrompts("test_dynamic_prompt"); err != nil {
		return "", err
	}
	return "A prompt came and went.", c.HidePrompts("test_dynamic_prompt")
}

func resourceUpdate(c *sallyport.Call, _ sallyport.None) (string, error) {
	return "The watched resource was updated.", c.ResourceUpdated("test://watched-resource")
}
