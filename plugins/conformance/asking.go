package main

import (
	"encoding/json"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// asking returns the tools that ask the client questions.
func asking() []sallyport.Item {
	return []sallyport.Item{
		sallyport.Want("elicitation", "", "asks what the suite wants it to ask"),
		sallyport.Want("sampling", map[string]int{"calls": 5, "tokens": 1000}, "asks the suite's model"),
		sallyport.Want("roots", "", "lists the suite's roots"),
		sallyport.Tool("test_sampling", "Asks the client's model.", testSampling),
		sallyport.Tool("test_elicitation", "Asks the client's user.", testElicitation),
		sallyport.Tool("test_elicitation_sep1034_defaults", "Asks with defaults for each kind of field.", askDefaults),
		sallyport.Tool("test_elicitation_sep1330_enums", "Asks with each kind of choice.", askEnums),
		sallyport.Tool("test_missing_capability", "Cannot do without the client's model.", missingCapability),
		sallyport.Tool("test_streaming_elicitation", "Reports progress and asks.", streamingElicitation),
		sallyport.Tool("test_input_required_result_elicitation", "Asks for a name.", askName),
		sallyport.Tool("test_input_required_result_sampling", "Asks the client's model for a capital.", askCapital),
		sallyport.Tool("test_input_required_result_list_roots", "Asks for the client's roots.", askRoots),
		sallyport.Tool("test_input_required_result_request_state", "Asks for a confirmation.", askConfirm),
		sallyport.Tool("test_input_required_result_tampered_state", "Asks for a confirmation.", askConfirm),
		sallyport.Tool("test_input_required_result_multiple_inputs", "Asks three things at once.", askThree),
		sallyport.Tool("test_input_required_result_multi_round", "Asks twice.", askTwice),
		sallyport.Tool("test_input_required_result_capabilities", "Asks what the client can be asked.", askWhatIsDeclared),
	}
}

type promptArgs struct {
	Prompt string `json:"prompt" doc:"The prompt to send to the model"`
}

func testSampling(c *sallyport.Call, a promptArgs) (string, error) {
	answer, err := sallyport.Sample(c, a.Prompt, 100)
	return "LLM response: " + answer.Text(), err
}

type messageArgs struct {
	Message string `json:"message" doc:"The message to show the user"`
}

type userForm struct {
	Username string `json:"username" doc:"User's response"`
	Email    string `json:"email" doc:"User's email address"`
}

func testElicitation(c *sallyport.Call, a messageArgs) (string, error) {
	user, err := sallyport.Elicit[userForm](c, a.Message)
	if err != nil {
		return "", err
	}
	return "User response: action=accept, content=" + asJSON(user), nil
}

type defaultsForm struct {
	Name     string  `json:"name" default:"John Doe"`
	Age      int     `json:"age" default:"30"`
	Score    float64 `json:"score" default:"95.5"`
	Status   string  `json:"status" enum:"active,inactive,pending" default:"active"`
	Verified bool    `json:"verified" default:"true"`
}

func askDefaults(c *sallyport.Call, _ sallyport.None) (string, error) {
	values, err := sallyport.Elicit[defaultsForm](c, "Please review the defaults")
	if err != nil {
		return "", err
	}
	return "Elicitation completed: action=accept, content=" + asJSON(values), nil
}

// enums is a schema with the five ways to write a choice.
const enums = `{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}
}}`

func askEnums(c *sallyport.Call, _ sallyport.None) (string, error) {
	form := sallyport.Form[map[string]any]{Message: "Please choose", Schema: enums}
	if err := sallyport.Ask(c, &form); err != nil {
		return "", err
	}
	return "Elicitation completed: action=accept, content=" + asJSON(form.Value), nil
}

func missingCapability(c *sallyport.Call, _ sallyport.None) (string, error) {
	answer, err := sallyport.Sample(c, "Say hello", 100)
	return answer.Text(), err
}

type confirmForm struct {
	OK bool `json:"ok"`
}

func streamingElicitation(c *sallyport.Call, _ sallyport.None) (string, error) {
	c.Progress(0, 2, "asking")
	answer, err := sallyport.Elicit[confirmForm](c, "Go on?")
	c.Progress(2, 2, "asked")
	return "The answer is " + asJSON(answer.OK), err
}

type nameForm struct {
	Name string `json:"name"`
}

func askName(c *sallyport.Call, _ sallyport.None) (string, error) {
	form := sallyport.Form[nameForm]{Key: "user_name", Message: "What is your name?"}
	err := sallyport.Ask(c, &form)
	return "Hello, " + form.Value.Name + "!", err
}

func askCapital(c *sallyport.Call, _ sallyport.None) (string, error) {
	model := sallyport.Sampling{
		Key: "capital_question", MaxTokens: 100,
		Messages: []sallyport.Message{sallyport.User(sallyport.Text("What is the capital of France?"))},
	}
	err := sallyport.Ask(c, &model)
	return model.Answer.Text(), err
}

func askRoots(c *sallyport.Call, _ sallyport.None) (string, error) {
	list := sallyport.RootList{Key: "client_roots"}
	err := sallyport.Ask(c, &list)
	return "The client's roots are " + asJSON(list.Roots), err
}

func askConfirm(c *sallyport.Call, _ sallyport.None) (string, error) {
	form := sallyport.Form[confirmForm]{Key: "confirm", Message: "Please confirm"}
	err := sallyport.Ask(c, &form)
	return "state-ok, confirmed: " + asJSON(form.Value.OK), err
}

func askThree(c *sallyport.Call, _ sallyport.None) (string, error) {
	name := sallyport.Form[nameForm]{Key: "user_name", Message: "What is your name?"}
	greeting := sallyport.Sampling{
		Key: "greeting", MaxTokens: 50,
		Messages: []sallyport.Message{sallyport.User(sallyport.Text("Generate a greeting"))},
	}
	roots := sallyport.RootList{Key: "client_roots"}
	err := sallyport.Ask(c, &name, &greeting, &roots)
	return greeting.Answer.Text() + " " + name.Value.Name + " of " + asJSON(roots.Roots), err
}

type colorForm struct {
	Color string `json:"color"`
}

func askTwice(c *sallyport.Call, _ sallyport.None) (string, error) {
	name := sallyport.Form[nameForm]{Key: "step1", Message: "Step 1: What is your name?"}
	if err := sallyport.Ask(c, &name); err != nil {
		return "", err
	}
	color := sallyport.Form[colorForm]{Key: "step2", Message: "Step 2: What is your favorite color?"}
	err := sallyport.Ask(c, &color)
	return name.Value.Name + " likes " + color.Value.Color, err
}

// askWhatIsDeclared asks a person and a model, and ignores the refusal of a question that the client does not support.
func askWhatIsDeclared(c *sallyport.Call, _ sallyport.None) (string, error) {
	name := sallyport.Form[nameForm]{Key: "user_name", Message: "What is your name?"}
	greeting := sallyport.Sampling{
		Key: "greeting", MaxTokens: 50,
		Messages: []sallyport.Message{sallyport.User(sallyport.Text("Generate a greeting"))},
	}
	err := sallyport.Ask(c, &name, &greeting)
	if sallyport.KindOf(name.Err) == sallyport.KindUnsupported || sallyport.KindOf(greeting.Err) == sallyport.KindUnsupported {
		err = nil
	}
	return greeting.Answer.Text() + " " + name.Value.Name, err
}

type contextForm struct {
	Context string `json:"context"`
}

// promptWithQuestion is a prompt that asks a question first.
func promptWithQuestion(c *sallyport.Call, _ sallyport.None) (string, error) {
	form := sallyport.Form[contextForm]{Key: "user_context", Message: "What context should the prompt use?"}
	err := sallyport.Ask(c, &form)
	return "Use this context: " + form.Value.Context, err
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
