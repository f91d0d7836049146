package main

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown returns a page's title, and its main part as Markdown, or all of it if whole is set. Links are absolute.
func markdown(source, address string, whole bool) (title, text string) {
	if isLong(source) {
		return streamed(source, address)
	}
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil { // nested too deeply for the parser
		return "", plain(source)
	}
	title = textOf(find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Title }))
	makeAbsolute(doc, baseOf(doc, address))
	body := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Body })
	if body == nil {
		body = doc
	}
	prune(body, alwaysDropped)
	boundSpans(body)
	part := body
	if !whole {
		part = mainPart(body)
	}
	out, err := newConverter().ConvertNode(part)
	if err != nil {
		return title, textOf(part)
	}
	return title, strings.TrimSpace(string(out))
}

// plain returns the text without tags.
func plain(source string) string {
	var words []string
	for z := html.NewTokenizer(strings.NewReader(source)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(words, " ")
		case html.TextToken:
			words = append(words, strings.Fields(string(z.Text()))...)
		}
	}
}

func newConverter() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin(),
	))
}

// mainPart drops the elements around an article. If the main element of a page has little text, the page is kept
// whole.
func mainPart(body *html.Node) *html.Node {
	total := len(textOf(body))
	for _, is := range []func(*html.Node) bool{isMain, isOnlyArticle(body)} {
		if n := find(body, is); n != nil && len(textOf(n))*8 >= total {
			prune(n, surroundings)
			return n
		}
	}
	prune(body, func(n *html.Node) bool {
		return surroundings(n) || n.DataAtom == atom.Header || n.DataAtom == atom.Footer
	})
	return body
}

func isMain(n *html.Node) bool {
	return n.DataAtom == atom.Main || attr(n, "role") == "main"
}

// isOnlyArticle returns a predicate for the only article of a page. Several articles are a list, and do not match.
func isOnlyArticle(body *html.Node) func(*html.Node) bool {
	count := 0
	find(body, func(n *html.Node) bool {
		if n.DataAtom == atom.Article {
			count++
		}
		return false
	})
	return func(n *html.Node) bool { return count == 1 && n.DataAtom == atom.Article }
}

// alwaysDropped reports whether an element has no readable text: code, form controls, hidden elements.
func alwaysDropped(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Canvas, atom.Object,
		atom.Embed, atom.Link, atom.Meta, atom.Input, atom.Button, atom.Select, atom.Textarea, atom.Dialog:
		return true
	case atom.Img:
		return attr(n, "src") == ""
	}
	style := strings.ReplaceAll(strings.ToLower(attr(n, "style")), " ", "")
	return has(n, "hidden") || attr(n, "aria-hidden") == "true" ||
		strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// surroundings reports whether an element is not part of the main text: navigation, asides, forms.
func surroundings(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Form, atom.Menu:
		return true
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar", "dialog", "alertdialog":
		return true
	}
	return false
}

// prune removes all elements for which drop is true.
func prune(n *html.Node, drop func(*html.Node) bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || c.Type == html.ElementNode && drop(c) {
			n.RemoveChild(c)
		} else {
			prune(c, drop)
		}
		c = next
	}
}

// find returns the first element, in document order, for which is returns true.
func find(n *html.Node, is func(*html.Node) bool) *html.Node {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && is(c) {
			return c
		}
	}
	return nil
}

// textOf returns the text inside an element on one line.
func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}

// baseOf returns the base URL of relative links.
func baseOf(doc *html.Node, address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		return &url.URL{}
	}
	if b := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Base && attr(n, "href") != "" }); b != nil {
		v, err := url.Parse(absolute(u, attr(b, "href")))
		// No link is relative to a person's address, and each repeats its base.
		if err == nil && (v.Scheme == "http" || v.Scheme == "https") && len(v.String()) <= maxLink {
			return v
		}
	}
	return u
}

// maxSpan bounds the columns or rows of a table cell: the converter makes a cell for each.
const maxSpan = 20

// boundSpans removes spans that exceed maxSpan.
func boundSpans(body *html.Node) {
	for n := range body.Descendants() {
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
			span, err := strconv.Atoi(strings.TrimSpace(a.Val))
			return (a.Key == "colspan" || a.Key == "rowspan") && (err != nil || span < 1 || span > maxSpan)
		})
	}
}

// makeAbsolute rewrites the links and images of a page. Addresses that lead nowhere or run code are removed.
func makeAbsolute(doc *html.Node, base *url.URL) {
	for n := range doc.Descendants() {
		for i, a := range n.Attr {
			if (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#") {
				n.Attr[i].Val = absolute(base, a.Val)
			}
		}
	}
}

// absolute returns the address that a page refers to, or "" if it has none or a scheme that is neither of the web nor
// of a person's address: such as javascript and data.
func absolute(base *url.URL, ref string) string {
	ref = withoutBreaks.Replace(strings.TrimFunc(ref, isControl))
	u, err := base.Parse(ref)
	if err != nil {
		u, err = base.Parse(percent.ReplaceAllStringFunc(ref, escaped))
	}
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "ftp", "mailto", "tel":
		return u.String()
	}
	return ""
}

// Browsers ignore white space and control characters around an address, and line breaks and tabs within it
// (URL Standard §4.4).
var withoutBreaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")

func isControl(r rune) bool { return r <= ' ' }

// percent matches an escape, or a percent sign that begins none. Browsers take that one as itself, and url.Parse does not.
var percent = regexp.MustCompile(`%(?:[0-9A-Fa-f]{2})?`)

func escaped(match string) string {
	if match == "%" {
		return "%25"
	}
	return match
}
