package command

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/sanitize"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// output says how standard output becomes a result.
type output struct {
	as   string
	mime string // of asBytes
	file string // the file of the call that is taken in place of standard output; "" is none
}

// The forms of an output.
const (
	asText  = "text"  // a text block
	asJSON  = "json"  // one JSON value, as structured content
	asJSONL = "jsonl" // any number of JSON values, as a list in structured content
	asLines = "lines" // the lines, as a list in structured content
	asBytes = "bytes" // an image, audio, or the contents of a resource
)

// listKey is the member of structured content that holds a value other than an object.
const listKey = "result"

func (t *tool) readOutput(at place, o jsonraw.Object, _ *schema) error {
	raw, at := o.Get("output"), at.key("output")
	t.output.as = asText
	if raw == nil {
		return nil
	}
	if word, ok := jsonraw.String(raw); ok {
		t.output.as = word
		return t.output.check(at)
	}
	form, err := jsonraw.ParseObject(raw)
	if err != nil {
		return at.fail("output is %s, or {as: …, type: …, file: …}", strings.Join(forms(), ", "))
	}
	if err := at.keys(form, "as", "type", "file"); err != nil {
		return err
	}
	for key, to := range map[string]*string{"as": &t.output.as, "type": &t.output.mime, "file": &t.output.file} {
		if form.Get(key) == nil {
			continue
		}
		if *to, err = at.key(key).text(form.Get(key), maxText); err != nil {
			return err
		}
	}
	if form.Get("as") == nil && t.output.mime != "" {
		t.output.as = asBytes
	}
	return t.output.check(at)
}

func forms() []string { return []string{asText, asJSON, asJSONL, asLines, asBytes} }

func (f *output) check(at place) error {
	if !slices.Contains(forms(), f.as) {
		return at.fail("there is no output %q%s", clip(f.as), suggestion(f.as, forms()))
	}
	if (f.as == asBytes) != (f.mime != "") {
		return at.fail("bytes have a type, and no other output has one: write {as: bytes, type: image/png}")
	}
	if f.mime != "" {
		if kind, _, err := mime.ParseMediaType(f.mime); err != nil || !strings.Contains(kind, "/") {
			return at.key("type").fail("%q is no media type: write one such as image/png", clip(f.mime))
		}
	}
	if f.file != "" && !strings.HasPrefix(f.file, "/") {
		return at.key("file").fail("the path %q is not absolute: write one such as /workspace/out.txt", clip(f.file))
	}
	if _, hidden := sanitize.Text(f.file); hidden > 0 {
		return at.key("file").fail("the path has %d invisible characters", hidden)
	}
	return nil
}

// result returns the result of a call that succeeded, within a limit.
func (t *tool) result(out []byte, limit bound) (json.RawMessage, error) {
	result, err := t.form(out, limit)
	if err == nil && len(result) > limit.bytes {
		return nil, limit.exceeded()
	}
	return result, err
}

// form puts an output into its form. A list that is over the limit is not built: its short values take far more memory
// than the output has bytes.
func (t *tool) form(out []byte, limit bound) (json.RawMessage, error) {
	switch t.output.as {
	case asJSON:
		return t.jsonResult(out)
	case asJSONL:
		return t.sequence(out, limit)
	case asLines:
		text, err := t.readable(out)
		if err != nil {
			return nil, err
		}
		if strings.Count(text, "\n") > limit.bytes/minLine {
			return nil, limit.exceeded()
		}
		return structured(listOf(lines(text))), nil
	case asBytes:
		return t.bytesResult(out), nil
	}
	text, err := t.readable(out)
	if err != nil {
		return nil, err
	}
	return content(textBlock(text)), nil
}

// readable returns the output as text, or the error of one that is not UTF-8.
func (t *tool) readable(out []byte) (string, error) {
	if utf8.Valid(out) {
		return string(out), nil
	}
	at := 0
	for at < len(out) {
		r, n := utf8.DecodeRune(out[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	return "", endOf(runtime.KindGuest, "%s is not UTF-8: byte %d of %d; its tool file can say output: {as: bytes, type: …}", t.source(), at, len(out))
}

// source names the output in messages.
func (t *tool) source() string {
	if t.output.file != "" {
		return "the file " + t.output.file + " of the program"
	}
	return "the program's output"
}

// jsonResult returns one JSON value as structured content.
func (t *tool) jsonResult(out []byte) (json.RawMessage, error) {
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return nil, endOf(runtime.KindGuest, "%s is empty, and not the JSON that its tool file announces", t.source())
	}
	if err := jsonraw.Valid(out); err != nil {
		return nil, endOf(runtime.KindGuest, "%s is not one JSON value: %v", t.source(), err)
	}
	if jsonraw.IsObject(out) {
		return structured(out), nil
	}
	return structured(wrapped(out)), nil
}

// minLine is what an empty line takes in a result, in bytes: "", as structured content, and \"\", as its text.
const minLine = 8

// sequence returns any number of JSON values as a list in structured content.
func (t *tool) sequence(out []byte, limit bound) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(out))
	list := []byte{'['}
	var value json.RawMessage
	for n := 1; ; n++ {
		err := d.Decode(&value)
		if errors.Is(err, io.EOF) {
			return structured(wrapped(append(list, ']'))), nil
		}
		if err == nil {
			err = jsonraw.Valid(value)
		}
		if err != nil {
			return nil, endOf(runtime.KindGuest, "value %d of %s is not JSON: %v", n, t.source(), err)
		}
		if n > 1 {
			list = append(list, ',')
		}
		if list = append(list, value...); len(list) > limit.bytes/2 { // it is also the text of the result
			return nil, limit.exceeded()
		}
	}
}

// lines splits a text into its lines, without their ends.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	list := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range list {
		list[i] = strings.TrimSuffix(l, "\r")
	}
	return list
}

func listOf(list []string) json.RawMessage { return wrapped(jsonraw.Strings(list)) }

func wrapped(value json.RawMessage) json.RawMessage {
	return jsonraw.Object{{Key: listKey, Value: value}}.Append(nil)
}

// bytesResult returns an image, audio, or the contents of a resource.
func (t *tool) bytesResult(out []byte) json.RawMessage {
	data := jsonraw.AppendString(nil, base64.StdEncoding.EncodeToString(out))
	kind := jsonraw.AppendString(nil, t.output.mime)
	family, _, _ := strings.Cut(t.output.mime, "/")
	if family == "image" || family == "audio" {
		return content(jsonraw.Object{
			{Key: "type", Value: jsonraw.AppendString(nil, family)}, {Key: "data", Value: data}, {Key: "mimeType", Value: kind},
		}.Append(nil))
	}
	resource := jsonraw.Object{
		{Key: "uri", Value: jsonraw.AppendString(nil, "output:/"+t.name)}, {Key: "mimeType", Value: kind}, {Key: "blob", Value: data},
	}.Append(nil)
	return content(jsonraw.Object{{Key: "type", Value: json.RawMessage(`"resource"`)}, {Key: "resource", Value: resource}}.Append(nil))
}

func textBlock(text string) json.RawMessage {
	return jsonraw.Object{{Key: "type", Value: json.RawMessage(`"text"`)}, {Key: "text", Value: jsonraw.AppendString(nil, text)}}.Append(nil)
}

func content(block json.RawMessage) json.RawMessage {
	return jsonraw.Object{{Key: "content", Value: jsonraw.Array([]json.RawMessage{block})}}.Append(nil)
}

// structured returns a result of structured content, with its text for clients that read only text.
func structured(value json.RawMessage) json.RawMessage {
	return jsonraw.Object{
		{Key: "content", Value: jsonraw.Array([]json.RawMessage{textBlock(string(value))})}, {Key: "structuredContent", Value: value},
	}.Append(nil)
}
