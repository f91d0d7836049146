package main

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

const (
	// maxBody bounds the part of a page that is read: an instance has 64 MiB, and a parsed page needs about ten times
	// its size.
	maxBody = 4 << 20
	// maxImage keeps an image in base64 below 256 KiB, the limit of a result.
	maxImage = 180 << 10
	// maxErrorText bounds the text shown of an error page.
	maxErrorText = 2000
)

type fetchArgs struct {
	URL    string `json:"url" doc:"what to read; https if no scheme is given" minLength:"1"`
	Start  int    `json:"start,omitempty" doc:"the first character to show, counted from 0" minimum:"0"`
	Length int    `json:"length" doc:"how many characters to show at most" minimum:"1" maximum:"100000" default:"20000"`
	Whole  bool   `json:"whole,omitempty" doc:"the whole page, menus and footers too, rather than its main part"`
	Raw    bool   `json:"raw,omitempty" doc:"the HTML as it is, rather than Markdown"`
}

// page is a decoded response.
type page struct {
	url, title, text string
	cut              bool // the body is longer than maxBody
}

func fetch(c *sallyport.Call, a fetchArgs) (sallyport.Result, error) {
	target, err := parseURL(a.URL)
	if err != nil {
		return sallyport.Result{}, err
	}
	res, err := c.Fetch(sallyport.HTTPRequest{URL: target, Header: sallyport.Header{
		"Accept":     {"text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5"},
		"User-Agent": {"sallyport-fetch/1.0"},
	}})
	if err != nil {
		return sallyport.Result{}, err
	}
	body, err := res.Body.ReadAll(maxBody)
	cut := errors.Is(err, sallyport.ErrTooLong)
	if err != nil && !cut {
		return sallyport.Result{}, fmt.Errorf("%s: the answer broke off after %d bytes: %w", target, len(body), err)
	}
	if res.URL != "" {
		target = res.URL
	}
	return answer(a, page{url: target, cut: cut}, res, body)
}

// answer converts the body of a response to a result, according to its type.
func answer(a fetchArgs, p page, res *sallyport.HTTPResponse, body []byte) (sallyport.Result, error) {
	kind, params := mediaType(res.Header.Get("Content-Type"), body)
	switch {
	case res.Status/100 != 2:
		p.read(kind, params["charset"], body, fetchArgs{})
		return failed(p, res.Status), nil
	case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml":
		return image(p, kind, body)
	case !p.read(kind, params["charset"], body, a):
		return sallyport.Result{}, fmt.Errorf("%s is %s, %d bytes: not a text or an image", p.url, kind, len(body))
	}
	return part(p, a)
}

// parseURL accepts only http and https, and assumes https for a URL without a scheme.
func parseURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is not a URL", s)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%s URLs cannot be read, only http and https", u.Scheme)
	case u.Hostname() == "":
		return "", fmt.Errorf("%q names no host", s)
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil
}

// mediaType returns the type that the server declares, or else one detected from the bytes.
func mediaType(header string, body []byte) (string, map[string]string) {
	kind, params, err := mime.ParseMediaType(header)
	if (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) && kind != "application/octet-stream" {
		return kind, params
	}
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	switch {
	case bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")):
		return "text/html", nil
	case isText(body):
		return "text/plain", nil
	}
	return "application/octet-stream", nil
}

// isText reports whether bytes of an unknown type can be shown: UTF-8 without control characters.
func isText(body []byte) bool {
	body = body[:min(len(body), 4096)]
	for i := 0; i < utf8.UTFMax && len(body) > 0 && !utf8.Valid(body); i++ {
		body = body[:len(body)-1] // it may be truncated within a character
	}
	return utf8.Valid(body) && !bytes.ContainsFunc(body, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1b
	})
}

// read sets the text. It returns false for a type without text.
func (p *page) read(kind, charset string, body []byte, a fetchArgs) bool {
	switch {
	case isHTML(kind) && !a.Raw:
		p.title, p.text = markdown(decode(body, charset, true), p.url, a.Whole)
	case isHTML(kind):
		p.text = decode(body, charset, true)
	case isTextual(kind):
		p.text = decode(body, charset, false)
	default:
		return false
	}
	return true
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

// isTextual reports whether a type is text, including those not named text/*.
func isTextual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch strings.TrimPrefix(strings.TrimPrefix(kind, "application/"), "x-") {
	case "json", "xml", "javascript", "ecmascript", "yaml", "toml", "sh", "ndjson", "jsonlines", "sql", "graphql", "x-www-form-urlencoded", "www-form-urlencoded":
		return true
	}
	return false
}

func image(p page, kind string, body []byte) (sallyport.Result, error) {
	if p.cut || len(body) > maxImage {
		return sallyport.Result{}, fmt.Errorf("%s is an image of more than %d KiB, too large to show", p.url, maxImage>>10)
	}
	return sallyport.Result{Content: []sallyport.Content{sallyport.Text(p.url), sallyport.Image(body, kind)}}, nil
}

func failed(p page, status int) sallyport.Result {
	text := fmt.Sprintf("%s answered %d", p.url, status)
	if shown := strings.TrimSpace(cutRunes(p.text, 0, maxErrorText)); shown != "" {
		text += "\n\n" + shown
	}
	return sallyport.Result{Content: []sallyport.Content{sallyport.Text(text)}, IsError: true}
}

// part returns the requested part of a page, below a line that describes it.
func part(p page, a fetchArgs) (sallyport.Result, error) {
	total := utf8.RuneCountInString(p.text)
	if a.Start > 0 && a.Start >= total {
		return sallyport.Result{}, fmt.Errorf("start is %d, but %s has only %d characters", a.Start, p.url, total)
	}
	end := min(a.Start+a.Length, total)
	head := p.url
	if p.title != "" {
		head = p.title + "\n" + head
	}
	if a.Start > 0 || end < total {
		head += fmt.Sprintf("\ncharacters %d to %d of %d", a.Start, end, total)
	}
	if end < total {
		head += fmt.Sprintf("; for more call again with start %d", end)
	}
	if p.cut {
		head += fmt.Sprintf("\nonly the first %d MiB of the page were read", maxBody>>20)
	}
	text := cutRunes(p.text, a.Start, a.Length)
	if strings.TrimSpace(text) == "" {
		text = "(the page has no text)"
	}
	return sallyport.Result{Content: []sallyport.Content{sallyport.Text(head + "\n\n" + text)}}, nil
}

// cutRunes returns n characters of s, from the character start.
func cutRunes(s string, start, n int) string {
	from, i := len(s), 0
	for at := range s {
		if i == start {
			from = at
		}
		if i == start+n {
			return s[from:at]
		}
		i++
	}
	return s[from:]
}
