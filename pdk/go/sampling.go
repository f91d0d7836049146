package sallyport

import "encoding/json"

// Sampling is a question for the client's model. It requires a sampling grant, which limits the requests and tokens
// of a call.
type Sampling struct {
	// Key identifies the question to the client; "" lets the host choose.
	Key string

	Messages  []Message
	MaxTokens int    // limit on the tokens of the answer
	System    string // system prompt; may be empty

	Temperature *float64
	Stop        []string // stop sequences
	// Hints are model names in order of preference. The client decides.
	Hints []string
	// Tools and ToolChoice let the model request tool calls, which the plugin must run. Both are encoded as in MCP.
	Tools, ToolChoice json.RawMessage

	Answer Sampled
	Err    error
}

// Sampled is a model's answer.
type Sampled struct {
	Role    string
	Content []Content
	Model   string
	// StopReason is endTurn, stopSequence, maxTokens, toolUse or a client-specific value.
	StopReason string
	Raw        json.RawMessage // the complete result as JSON
}

// Text returns the text of the answer.
func (s *Sampled) Text() string {
	var text string
	for _, c := range s.Content {
		if c.Type == "text" {
			text += c.Text
		}
	}
	return text
}

// Sample asks the client's model one question.
func Sample(c *Call, prompt string, maxTokens int) (Sampled, error) {
	s := Sampling{Messages: []Message{User(Text(prompt))}, MaxTokens: maxTokens}
	err := Ask(c, &s)
	return s.Answer, err
}

// modelHint is a preferred model name.
type modelHint struct {
	Name string `json:"name"`
}

func (s *Sampling) asking() (*Asking, error) {
	p := struct {
		Messages    []Message       `json:"messages"`
		MaxTokens   int             `json:"maxTokens"`
		System      string          `json:"systemPrompt,omitempty"`
		Temperature *float64        `json:"temperature,omitempty"`
		Stop        []string        `json:"stopSequences,omitempty"`
		Preferences any             `json:"modelPreferences,omitempty"`
		Tools       json.RawMessage `json:"tools,omitempty"`
		ToolChoice  json.RawMessage `json:"toolChoice,omitempty"`
	}{s.Messages, s.MaxTokens, s.System, s.Temperature, s.Stop, nil, s.Tools, s.ToolChoice}
	if len(s.Hints) > 0 {
		hints := make([]modelHint, len(s.Hints))
		for i, name := range s.Hints {
			hints[i].Name = name
		}
		p.Preferences = map[string]any{"hints": hints}
	}
	s.Answer = Sampled{}
	return &Asking{Method: "sampling/createMessage", Key: s.Key, Params: p, Result: &s.Answer.Raw}, nil
}

func (s *Sampling) take(a *Asking) error {
	if s.Err = a.Err; s.Err == nil {
		s.Err = s.Answer.read()
	}
	return s.Err
}

// read decodes the answer. Its content is one block or a list.
func (s *Sampled) read() error {
	var raw struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		Model      string          `json:"model"`
		StopReason string          `json:"stopReason"`
	}
	if err := json.Unmarshal(s.Raw, &raw); err != nil {
		return err
	}
	s.Role, s.Model, s.StopReason = raw.Role, raw.Model, raw.StopReason
	if len(raw.Content) > 0 && raw.Content[0] == '[' {
		return json.Unmarshal(raw.Content, &s.Content)
	}
	s.Content = make([]Content, 1)
	return json.Unmarshal(raw.Content, &s.Content[0])
}

// Root is a root folder or file of the client's workspace.
type Root struct {
	URI  string `json:"uri"` // a file:// URI
	Name string `json:"name,omitempty"`
}

// RootList asks the client for its roots. It requires a roots grant.
type RootList struct {
	// Key identifies the question to the client; "" lets the host choose.
	Key string

	Roots []Root
	Err   error
	reply struct {
		Roots []Root `json:"roots"`
	}
}

// Roots returns the client's roots.
func Roots(c *Call) ([]Root, error) {
	var r RootList
	err := Ask(c, &r)
	return r.Roots, err
}

func (r *RootList) asking() (*Asking, error) {
	r.reply.Roots = nil
	return &Asking{Method: "roots/list", Key: r.Key, Result: &r.reply}, nil
}

func (r *RootList) take(a *Asking) error {
	r.Roots, r.Err = r.reply.Roots, a.Err
	return r.Err
}
