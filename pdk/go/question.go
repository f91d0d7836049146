package sallyport

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/arguments"
	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

// Errors of a question that a person did not answer.
var (
	ErrDeclined  = errors.New("the user declined") // said no
	ErrCancelled = errors.New("the user dismissed the question")
)

// Question is a question to the client: a [Form], a [Page], a [Sampling] or a [RootList].
type Question interface {
	// asking returns the request, and take decodes the answer into the question.
	asking() (*Asking, error)
	take(a *Asking) error
}

// Ask asks several questions at once, which a client shows together. Each question gets its own answer and its own
// Err. The returned error is the first of these.
//
// Ask blocks until a person answers, and handlers can be written as sequential code. If the answer arrives in a new
// request, perhaps to a different process, the host replays the call up to this point: all earlier host requests, the
// time and the random numbers have the same results. Therefore the code before a question must be deterministic,
// given these. It must not depend on variables that change from call to call.
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

// Elicit asks the person at the client to fill in a form. F is a struct of strings, numbers, booleans and slices of
// strings, with the tags of [Tool]. People see title, doc, enum and default. The error is [ErrDeclined],
// [ErrCancelled], or an [*AskError], of kind unsupported if this client has no forms.
//
//	who, err := sallyport.Elicit[struct {
//		Name string `json:"name" title:"Your name"`
//	}](c, "Who is asking?")
//
// A form must not request a password or a key: the host refuses it. [ElicitURL] sends people to a page for that.
// Elicit requires an elicitation grant.
func Elicit[F any](c *Call, message string) (F, error) {
	f := Form[F]{Message: message}
	err := Ask(c, &f)
	return f.Value, err
}

// ElicitURL asks the person at the client to open a page. Nil means only that the person agreed, not that any action
// was completed there. Errors are those of [Elicit].
func ElicitURL(c *Call, message, url string) error {
	return Ask(c, &Page{Message: message, URL: url})
}

// Form is a form for a person, as in [Elicit].
type Form[F any] struct {
	// Key identifies the question to the client; "" lets the host choose.
	Key     string
	Message string
	// Schema replaces the schema derived from F, unless it is "".
	Schema string

	Value F // the answer, set by Ask
	Err   error
	reply reply
}

// reply is the result of an elicitation.
type reply struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
}

// refused returns the error of an elicitation without an answer, or nil.
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

// Page is an address for a person to open, as in [ElicitURL].
type Page struct {
	// Key identifies the question to the client; "" lets the host choose.
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
