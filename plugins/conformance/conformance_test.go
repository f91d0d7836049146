package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
)

func TestTools_answerAsTheSuiteExpects(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	for tool, want := range map[string]string{
		"test_simple_text":       `{"content":[{"type":"text","text":"This is a simple text response for testing."}]}`,
		"test_embedded_resource": `{"content":[{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}]}`,
		"test_error_handling":    `{"content":[{"type":"text","text":"This tool intentionally returns an error for testing"}],"isError":true}`,
		"test_logging_tool":      `{"content":[{"type":"text","text":"One message was logged."}]}`,
	} {
		if got := string(h.Call(tool, nil).Raw); got != want {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
	}
	if got := h.Call("test_x_mcp_header", `{"region":"eu"}`).Text(); got != "The region is eu." {
		t.Errorf("got %q, want \"The region is eu.\"", got)
	}
	if got := h.Call("json_schema_2020_12_tool", `{"phone":"1"}`).Text(); got != `Received {"phone":"1"}` {
		t.Errorf("got %q, want %q", got, `Received {"phone":"1"}`)
	}
}

func TestTools_returnMedia(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	image := h.Call("test_image_content", nil).Content[0]
	if _, err := png.Decode(bytes.NewReader(image.Data)); err != nil || image.MIMEType != "image/png" {
		t.Errorf("got image %v, %v; want an image/png that decodes", image, err)
	}
	sound := h.Call("test_audio_content", nil).Content[0]
	if !bytes.HasPrefix(sound.Data, []byte("RIFF")) || sound.Type != "audio" || sound.MIMEType != "audio/wav" {
		t.Errorf("got sound %v, want an audio/wav", sound)
	}
	var kinds []string
	for _, c := range h.Call("test_multiple_content_types", nil).Content {
		kinds = append(kinds, c.Type)
	}
	if strings.Join(kinds, " ") != "text image resource" {
		t.Errorf("got contents of types %q, want text, image, resource", kinds)
	}
}

func TestTools_sendNotifications(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	h.Call("test_tool_with_progress", nil)
	var seen []float64
	for _, p := range h.Progress() {
		seen = append(seen, p.Progress, p.Total)
	}
	if got, _ := json.Marshal(seen); string(got) != "[0,100,50,100,100,100]" {
		t.Errorf("got progress %s, want 0, 50 and 100 of 100", got)
	}
	h.Call("test_tool_with_logging", nil)
	var texts []string
	for _, l := range h.Logs() {
		texts = append(texts, string(l.Level)+" "+l.Data.(string))
	}
	if got := strings.Join(texts, "; "); got != "info Tool execution started; info Tool processing data; info Tool execution completed" {
		t.Errorf("got log %q, want started, processing and completed at info", got)
	}
}

// The schemas that clients receive have the keywords that the suite checks.
func TestSchemas_haveTheKeywordsOfTheSuite(t *testing.T) {
	for _, e := range sallyporttest.New(t, plugin).Describe().Tools {
		switch e.Name {
		case "json_schema_2020_12_tool":
			if string(e.InputSchema) != schema2020 {
				t.Errorf("the schema is another: got %s, want %s", e.InputSchema, schema2020)
			}
		case "test_x_mcp_header":
			if !strings.Contains(string(e.InputSchema), `"x-mcp-header":"Region"`) {
				t.Errorf("%s: got schema %s, want x-mcp-header Region in it", e.Name, e.InputSchema)
			}
		}
		if e.Description == "" {
			t.Errorf("%s: got no description, want one", e.Name)
		}
	}
}

func TestResources_answerAsTheSuiteExpects(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	for uri, want := range map[string]string{
		"test://static-text":       `{"contents":[{"uri":"test://static-text","mimeType":"text/plain","text":"This is the content of the static text resource."}]}`,
		"test://template/123/data": `{"contents":[{"uri":"test://template/123/data","mimeType":"application/json","text":"{\"id\":\"123\",\"templateTest\":true,\"data\":\"Data for ID: 123\"}"}]}`,
		"test://watched-resource":  `{"contents":[{"uri":"test://watched-resource","mimeType":"text/plain","text":"This is the content of the watched resource."}]}`,
	} {
		got, err := h.Request("resources/read", map[string]string{"uri": uri})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %v %s; want no error, %s", uri, err, got, want)
		}
	}
	all, err := h.Read("test://static-binary")
	if err != nil || !bytes.Equal(all[0].Blob, pixel) || all[0].MIMEType != "image/png" {
		t.Errorf("got %v, %v; want the pixel as image/png", all, err)
	}
	if _, err := h.Read("test://absent"); err == nil {
		t.Error("absent resource: got no error, want one")
	}
}

func TestPrompts_answerAsTheSuiteExpects(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	for name, want := range map[string]string{
		"test_simple_prompt":         `{"messages":[{"role":"user","content":{"type":"text","text":"This is a simple prompt for testing."}}]}`,
		"test_prompt_with_arguments": `{"messages":[{"role":"user","content":{"type":"text","text":"Prompt with arguments: arg1='hello', arg2='world'"}}]}`,
		"test_prompt_with_embedded_resource": `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"test://r","mimeType":"text/plain","text":"Embedded resource content for testing."}}},` +
			`{"role":"user","content":{"type":"text","text":"Please process the embedded resource above."}}]}`,
	} {
		got, err := h.Request("prompts/get", map[string]any{
			"name": name, "arguments": map[string]string{"arg1": "hello", "arg2": "world", "resourceUri": "test://r"},
		})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %v %s; want no error, %s", name, err, got, want)
		}
	}
	r, err := h.Prompt("test_prompt_with_image", nil)
	if err != nil || r.Messages[0].Content.Type != "image" || r.Messages[1].Content.Text != "Please analyze the image above." {
		t.Errorf("got %v, %v; want an image and the request to analyze it", r, err)
	}
	values, err := h.CompletePrompt("test_prompt_with_arguments", "arg1", "part")
	if err != nil || len(values) != 1 || values[0] != "party" {
		t.Errorf("got %v, %v; want [party]", values, err)
	}
	if values, err := h.CompleteTemplate("test://template/{id}/data", "id", ""); err != nil || len(values) != 1 {
		t.Errorf("template: got %v, %v; want one value", values, err)
	}
}

func TestLongRunning_reportsProgressUntilItsEnd(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	if got := h.Call("greet", `{"name":"Ada"}`).Text(); got != "Hello, Ada!" {
		t.Errorf("got %q, want \"Hello, Ada!\"", got)
	}
	if got := h.Call("slow_compute", `{"seconds":0,"label":"x"}`).Text(); got != `Computed "x" in 0 s.` {
		t.Errorf("got %q, want %q", got, `Computed "x" in 0 s.`)
	}
}
