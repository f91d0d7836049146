package main

import sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

func resources() []sallyport.Item {
	return []sallyport.Item{
		sallyport.Resource("test://static-text", "static-text", "A text that never changes.", staticText,
			sallyport.MIMEType("text/plain")),
		sallyport.Resource("test://static-binary", "static-binary", "A picture that never changes.", staticBinary,
			sallyport.MIMEType("image/png")),
		sallyport.Resource("test://watched-resource", "watched-resource", "A resource to subscribe to.", watched,
			sallyport.MIMEType("text/plain")),
		sallyport.Template("test://template/{id}/data", "template", "Data by its ID.", templateData,
			sallyport.MIMEType("application/json"), sallyport.Completion("id", completeID)),
	}
}

func staticText(*sallyport.Call) (string, error) {
	return "This is the content of the static text resource.", nil
}

func staticBinary(*sallyport.Call) ([]byte, error) { return pixel, nil }

func watched(*sallyport.Call) (string, error) {
	return "This is the content of the watched resource.", nil
}

// data has the member order of the suite's example.
type data struct {
	ID   string `json:"id"`
	Test bool   `json:"templateTest"`
	Data string `json:"data"`
}

func templateData(_ *sallyport.Call, v sallyport.Vars) (data, error) {
	return data{v["id"], true, "Data for ID: " + v["id"]}, nil
}

func completeID(*sallyport.Call, string) ([]string, error) { return []string{"123"}, nil }
