package sallyport

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/arguments"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

// What a person answers who does not answer.
var (
	ErrDeclined  = errors.New("the user declined") // said no
	ErrCancelled = errors.New("the user dismissed the question")
)

// Question is something that the client is asked: a [Form], a [Page], a [Sampling] or a [RootList].
type Question interface {
	// asking makes the request; take reads the answer into the question.
	asking() (*Asking, error)
	take(a *Asking) error
}

// Ask asks several questions at once: a client shows them together. Each question gets its own answer
// and its own Err; the error returned is the first of these.
//
// A question takes as long as a person does. Write on as if it were a function: when the answer comes in
// another request, to another process even, the host has run the plugin again up to here, with the same
// answers to everything that it asked before, the same time, the same random numbers. So what a plugin
// does before a question must follow from those; what it keeps in variables from call to call does not.
func Ask(c *Call, questions ...Question) error {
	asks := make([]*Asking, len(questions))
	for i, q := range questions {
		a, err := q.asking()
		if err != nil {
			return err
		}
		asks[i] = a
	}
	if err := c.Round(asks...); err != nil {
		return err
	}
	var first error
	for i, q := range questions {
		if err := q.take(asks[i]); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Elicit asks the person at the client to fill in a form. F is a struct of strings, numbers, booleans and
// slices of strings, with the tags of [Tool]; title, doc, enum and default are what people see. The error
// is [ErrDeclined], [ErrCancelled], or an [*AskError]: of kind unsupported if this client has no forms.
//
//	who, err := sallyport.Elicit[struct {
//		Name string `json:"name" title:"Your name"`
//	}](c, "Who is asking?")
//
// Never ask for a password or a key by form; the host refuses. Send people to a page with [ElicitURL].
// It needs an elicitation grant.
func Elicit[F any](c *Call, message string) (F, error) {
	f := Form[F]{Message: message}
	err := Ask(c, &f)
	return f.Value, err
}

// ElicitURL asks the person at the client to open a page. Nil means that the person agreed to, not that
// anything was done there. Errors are those of [Elicit].
func ElicitURL(c *Call, message, url string) error {
	return Ask(c, &Page{Message: message, URL: url})
}

// Form is a form for a person, as [Elicit] asks it.
type Form[F any] struct {
	// Key names the question for the client; "" lets the host choose.
	Key     string
	Message string
	// Schema takes the place of the schema of F; "" is that.
	Schema string

	Value F // the answer
	Err   error
	reply reply
}

// reply is the answer to an elicitation.
type reply struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
}

// refused is the error of an answer that is none.
func (r *reply) refused() error {
	switch r.Action {
	case "accept":
		return nil
	case "decline":
		return ErrDeclined
	}
	return ErrCancelled
}

// elicitation is the params of an elicitation.
type elicitation struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema,omitempty"`
	URL     string          `json:"url,omitempty"`
}

func (f *Form[F]) asking() (*Asking, error) {
	p := elicitation{Mode: "form", Message: f.Message, Schema: json.RawMessage(f.Schema)}
	if f.Schema == "" {
		p.Schema = schema.Of(reflect.TypeFor[F](), schema.Form)
	}
	f.reply = reply{}
	return &Asking{Method: "elicitation/create", Key: f.Key, Params: p, Result: &f.reply}, nil
}

func (f *Form[F]) take(a *Asking) error {
	if f.Err = a.Err; f.Err == nil {
		f.Err = f.reply.refused()
	}
	if f.Err == nil {
		f.Err = arguments.Of(reflect.TypeFor[F]()).Decode(f.reply.Content, &f.Value)
	}
	return f.Err
}

// Page is an address that a person is asked to open, as [ElicitURL] asks it.
type Page struct {
	// Key names the question for the client; "" lets the host choose.
	Key     string
	Message string
	URL     string

	Err   error
	reply reply
}

func (p *Page) asking() (*Asking, error) {
	p.reply = reply{}
	return &Asking{Method: "elicitation/create", Key: p.Key, Result: &p.reply,
		Params: elicitation{Mode: "url", Message: p.Message, URL: p.URL}}, nil
}

func (p *Page) take(a *Asking) error {
	if p.Err = a.Err; p.Err == nil {
		p.Err = p.reply.refused()
	}
	return p.Err
}
