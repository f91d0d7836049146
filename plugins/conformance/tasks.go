package main

import (
	"fmt"
	"time"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

// longRunning returns tools with task support, and one without.
func longRunning() []sallyport.Item {
	return []sallyport.Item{
		sallyport.Tool("greet", "Greets at once.", greet),
		sallyport.Tool("slow_compute", "Takes as long as it is told.", slowCompute, sallyport.Task()),
		sallyport.Tool("failing_job", "Fails after a second.", failingJob, sallyport.TaskOnly()),
		sallyport.Tool("protocol_error_job", "Ends with an error of the protocol.", protocolErrorJob, sallyport.Task()),
		sallyport.Tool("confirm_delete", "Asks before it deletes.", confirmDelete, sallyport.Task()),
		sallyport.Tool("multi_input", "Asks two things at once.", multiInput, sallyport.Task()),
		sallyport.Tool("test_tool_with_task", "Asks for a name, and goes on with it.", nameThenWork, sallyport.TaskOnly(), sallyport.AsksFirst()),
	}
}

func greet(_ *sallyport.Call, a nameForm) (string, error) { return "Hello, " + a.Name + "!", nil }

type slowArgs struct {
	Seconds float64 `json:"seconds" doc:"how long it takes"`
	Label   string  `json:"label,omitempty" doc:"what to call it"`
}

func slowCompute(_ *sallyport.Call, a slowArgs) (string, error) {
	time.Sleep(time.Duration(a.Seconds * float64(time.Second)))
	return fmt.Sprintf("Computed %q in %v s.", a.Label, a.Seconds), nil
}

func failingJob(*sallyport.Call, sallyport.None) (string, error) {
	time.Sleep(time.Second)
	return "", fmt.Errorf("the job failed, as it always does")
}

func protocolErrorJob(*sallyport.Call, sallyport.None) (string, error) {
	return "", &sallyport.Error{Code: sallyport.CodeInternal, Message: "the job cannot be done"}
}

type deleteArgs struct {
	Filename string `json:"filename" doc:"what to delete"`
}

type deleteForm struct {
	Confirm bool `json:"confirm" doc:"whether to go on"`
}

func confirmDelete(c *sallyport.Call, a deleteArgs) (string, error) {
	answer, err := sallyport.Elicit[deleteForm](c, "Delete "+a.Filename+"?")
	if err != nil {
		return "", err
	}
	if !answer.Confirm {
		return "Kept " + a.Filename + ".", nil
	}
	return "Deleted " + a.Filename + ".", nil
}

func multiInput(c *sallyport.Call, _ sallyport.None) (string, error) {
	name := sallyport.Form[nameForm]{Key: "name", Message: "What is your name?"}
	color := sallyport.Form[colorForm]{Key: "color", Message: "What is your favorite color?"}
	err := sallyport.Ask(c, &name, &color)
	return name.Value.Name + " likes " + color.Value.Color + ".", err
}

func nameThenWork(c *sallyport.Call, _ sallyport.None) (string, error) {
	form := sallyport.Form[nameForm]{Key: "user_name", Message: "What is your name?"}
	if err := sallyport.Ask(c, &form); err != nil {
		return "", err
	}
	time.Sleep(pause)
	return "Worked for " + form.Value.Name + ".", nil
}
