package sallyport

import (
	"encoding/base64"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Content is one block of a result or a prompt message. Make one with [Text], [Image], [Audio],
// [Embed] or [Link].
type Content struct {
	Type        string              `json:"type"` // text, image, audio, resource or resource_link
	Text        string              `json:"text,omitempty"`
	Data        []byte              `json:"data,omitempty"` // of image and audio, not yet base64
	Body        *Body               `json:"-"`              // in place of Data
	MIMEType    string              `json:"mimeType,omitempty"`
	Resource    *Contents           `json:"resource,omitempty"`
	URI         string              `json:"uri,omitempty"`  // of a link
	Name        string              `json:"name,omitempty"` // of a link
	Title       string              `json:"title,omitempty"`
	Description string              `json:"description,omitempty"`
	Size        int64               `json:"size,omitempty"` // of a link's target in bytes, 0 if unknown
	Annotations *ContentAnnotations `json:"annotations,omitempty"`
	Meta        map[string]any      `json:"_meta,omitempty"`
}

// ContentAnnotations say for whom a block is and how much it matters.
type ContentAnnotations struct {
	Audience     []string `json:"audience,omitempty"`     // user, assistant
	Priority     *float64 `json:"priority,omitempty"`     // 0 to 1
	LastModified string   `json:"lastModified,omitempty"` // RFC 3339
}

// Text is a block of text.
func Text(s string) Content { return Content{Type: "text", Text: s} }

// Image is a picture.
func Image(data []byte, mimeType string) Content {
	return Content{Type: "image", Data: data, MIMEType: mimeType}
}

// Audio is a sound.
func Audio(data []byte, mimeType string) Content {
	return Content{Type: "audio", Data: data, MIMEType: mimeType}
}

// Embed is the contents of a resource, in place.
func Embed(r Contents) Content { return Content{Type: "resource", Resource: &r} }

// Link names a resource that the client may read.
func Link(uri, name string) Content {
	return Content{Type: "resource_link", URI: uri, Name: name}
}

// MarshalJSON writes the block as MCP has it: an empty text and empty data are written too.
func (c Content) MarshalJSON() ([]byte, error) { return c.encode() }

func (c Content) encode() ([]byte, error) {
	var o jsontext.Object
	o.Text("type", c.Type)
	if c.Type == "text" {
		o.Text("text", c.Text)
	}
	if c.Type == "image" || c.Type == "audio" {
		o.Raw("data", blob(c.Data, c.Body))
	}
	if c.Resource != nil {
		if err := o.Value("resource", c.Resource); err != nil {
			return nil, err
		}
	}
	o.Optional("uri", c.URI)
	o.Optional("name", c.Name)
	o.Optional("title", c.Title)
	o.Optional("description", c.Description)
	o.Optional("mimeType", c.MIMEType)
	return c.marshalRest(&o)
}

func (c Content) marshalRest(o *jsontext.Object) ([]byte, error) {
	if c.Size > 0 {
		o.Raw("size", []byte(itoa(c.Size)))
	}
	if c.Annotations != nil {
		if err := o.Value("annotations", c.Annotations); err != nil {
			return nil, err
		}
	}
	if c.Meta != nil {
		if err := o.Value("_meta", c.Meta); err != nil {
			return nil, err
		}
	}
	return o.Bytes(), nil
}

// blob is bytes in base64, or the name of the stream that holds them.
func blob(data []byte, body *Body) []byte {
	if body != nil {
		return body.reference()
	}
	out := make([]byte, base64.StdEncoding.EncodedLen(len(data))+2)
	out[0], out[len(out)-1] = '"', '"'
	base64.StdEncoding.Encode(out[1:], data)
	return out
}

// Contents is what a resource holds: text, or bytes if Blob is not nil.
type Contents struct {
	URI      string         `json:"uri"`                // the resource's own if empty
	MIMEType string         `json:"mimeType,omitempty"` // the definition's if empty
	Text     string         `json:"text,omitempty"`
	Blob     []byte         `json:"blob,omitempty"` // not yet base64
	Body     *Body          `json:"-"`              // in place of Blob
	Meta     map[string]any `json:"_meta,omitempty"`
}

// MarshalJSON writes the contents as MCP has them.
func (c Contents) MarshalJSON() ([]byte, error) {
	var o jsontext.Object
	o.Text("uri", c.URI)
	o.Optional("mimeType", c.MIMEType)
	if c.Blob != nil || c.Body != nil {
		o.Raw("blob", blob(c.Blob, c.Body))
	} else {
		o.Text("text", c.Text)
	}
	if c.Meta != nil {
		if err := o.Value("_meta", c.Meta); err != nil {
			return nil, err
		}
	}
	return o.Bytes(), nil
}
