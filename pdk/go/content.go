package sallyport

import (
	"encoding/base64"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/jsontext"
)

// Content is one block of a result or a prompt message. [Text], [Image], [Audio], [Embed] and [Link] make one.
type Content struct {
	Type        string              `json:"type"` // text, image, audio, resource or resource_link
	Text        string              `json:"text,omitempty"`
	Data        []byte              `json:"data,omitempty"` // of image and audio, raw bytes (encoded as base64 when sent)
	Body        *Body               `json:"-"`              // streamed content instead of Data
	MIMEType    string              `json:"mimeType,omitempty"`
	Resource    *Contents           `json:"resource,omitempty"`
	URI         string              `json:"uri,omitempty"`  // of a resource_link
	Name        string              `json:"name,omitempty"` // of a resource_link
	Title       string              `json:"title,omitempty"`
	Description string              `json:"description,omitempty"`
	Size        int64               `json:"size,omitempty"` // size of the link's target in bytes, 0 if unknown
	Annotations *ContentAnnotations `json:"annotations,omitempty"`
	Meta        map[string]any      `json:"_meta,omitempty"`
}

// ContentAnnotations describe the audience and importance of content.
type ContentAnnotations struct {
	Audience     []string `json:"audience,omitempty"`     // user and/or assistant
	Priority     *float64 `json:"priority,omitempty"`     // 0 (optional) to 1 (required)
	LastModified string   `json:"lastModified,omitempty"` // time in RFC 3339
}

// Text returns a block of text.
func Text(s string) Content { return Content{Type: "text", Text: s} }

// Image returns an image block from raw bytes.
func Image(data []byte, mimeType string) Content {
	return Content{Type: "image", Data: data, MIMEType: mimeType}
}

// Audio returns an audio block from raw bytes.
func Audio(data []byte, mimeType string) Content {
	return Content{Type: "audio", Data: data, MIMEType: mimeType}
}

// Embed returns a block with the contents of a resource.
func Embed(r Contents) Content { return Content{Type: "resource", Resource: &r} }

// Link returns a block that refers to a resource that the client may read.
func Link(uri, name string) Content {
	return Content{Type: "resource_link", URI: uri, Name: name}
}

// MarshalJSON encodes the block as MCP does. An empty text and empty data are included.
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

// blob returns bytes as a base64 string, or a reference to the stream that holds them.
func blob(data []byte, body *Body) []byte {
	if body != nil {
		return body.reference()
	}
	out := make([]byte, base64.StdEncoding.EncodedLen(len(data))+2)
	out[0], out[len(out)-1] = '"', '"'
	base64.StdEncoding.Encode(out[1:], data)
	return out
}

// Contents is the content of a resource: bytes if Blob is not nil, or else text.
type Contents struct {
	URI      string         `json:"uri"`                // defaults to the URI of the request
	MIMEType string         `json:"mimeType,omitempty"` // defaults to that of the definition
	Text     string         `json:"text,omitempty"`
	Blob     []byte         `json:"blob,omitempty"` // raw bytes (encoded as base64 when sent)
	Body     *Body          `json:"-"`              // streamed content instead of Blob
	Meta     map[string]any `json:"_meta,omitempty"`
}

// MarshalJSON encodes the contents as MCP does.
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
