package main

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxTokens bounds the tags and texts of a page that is parsed as a tree: each takes some hundred bytes in the tree,
// and as much again in the conversion to Markdown, of the 64 MiB of an instance. Longer pages are streamed.
const maxTokens = 20_000

// maxParsed bounds the bytes of a page that is parsed as a tree.
const maxParsed = 1 << 20

// isLong reports whether a page exceeds maxParsed or maxTokens.
func isLong(source string) bool {
	if len(source) > maxParsed {
		return true
	}
	z := html.NewTokenizer(strings.NewReader(source))
	for range maxTokens {
		if z.Next() == html.ErrorToken {
			return false
		}
	}
	return true
}

// stream converts a page to Markdown token by token, in memory independent of their number: headings, paragraphs,
// lists, links and preformatted text.
type stream struct {
	out     strings.Builder
	base    *url.URL
	title   string
	inTitle bool
	hidden  []atom.Atom // open elements with ignored text, outermost first
	link    string      // of the open anchor
	pre     bool
	blank   int // number of line ends at the end of out
	space   bool
}

// streamed returns the title and the text of a long page.
func streamed(source, address string) (title, text string) {
	s := &stream{blank: 2}
	s.out.Grow(len(source) / 2)
	if u, err := url.Parse(address); err == nil {
		s.base = u
	}
	for z := html.NewTokenizer(strings.NewReader(source)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(s.title), strings.TrimSpace(s.out.String())
		case html.TextToken:
			s.text(string(z.Text()))
		case html.StartTagToken:
			s.open(z.Token())
		case html.SelfClosingTagToken:
			if t := z.Token(); isVoid(t.DataAtom) {
				s.open(t)
			}
		case html.EndTagToken:
			s.close(z.Token().DataAtom)
		}
	}
}

func isVoid(a atom.Atom) bool {
	return a == atom.Br || a == atom.Hr || a == atom.Img || a == atom.Input
}

// unread reports whether the text of an element is ignored.
func unread(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Canvas, atom.Object,
		atom.Button, atom.Select, atom.Textarea, atom.Nav, atom.Aside, atom.Footer:
		return true
	}
	return false
}

func (s *stream) open(t html.Token) {
	switch a := t.DataAtom; {
	case len(s.hidden) > 0 || unread(a):
		if unread(a) && len(s.hidden) < maxHidden {
			s.hidden = append(s.hidden, a)
		}
	case a == atom.Title:
		s.inTitle = true
	case a == atom.A:
		s.link = s.href(t)
		if s.link != "" {
			s.write("[")
		}
	case a == atom.Pre:
		s.breakLine(2)
		s.pre = true
	case a == atom.Br:
		s.breakLine(1)
	case a == atom.Li:
		s.breakLine(1)
		s.write("- ")
	case a == atom.Td || a == atom.Th:
		s.write(" | ")
	case a == atom.Tr || a == atom.Dt || a == atom.Dd:
		s.breakLine(1)
	case heading(a) > 0:
		s.breakLine(2)
		s.write(strings.Repeat("#", heading(a)) + " ")
	case isBlock(a):
		s.breakLine(2)
	}
}

// maxHidden bounds the nesting of elements with ignored text.
const maxHidden = 1000

func (s *stream) close(a atom.Atom) {
	if n := len(s.hidden); n > 0 {
		if s.hidden[n-1] == a {
			s.hidden = s.hidden[:n-1]
		}
		return
	}
	switch {
	case a == atom.Title:
		s.inTitle = false
	case a == atom.A && s.link != "":
		s.write("](" + s.link + ")")
		s.link = ""
	case a == atom.Pre:
		s.pre = false
		s.breakLine(2)
	case heading(a) > 0 || isBlock(a):
		s.breakLine(2)
	}
}

func heading(a atom.Atom) int {
	switch a {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4, atom.H5, atom.H6:
		return 4
	}
	return 0
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Blockquote, atom.Figure, atom.Hr, atom.Form, atom.Body:
		return true
	}
	return false
}

// maxLink bounds the length of an address that is shown.
const maxLink = 2000

// href returns the absolute address of a link, or "" if it is not shown.
func (s *stream) href(t html.Token) string {
	for _, a := range t.Attr {
		if a.Key != "href" || s.base == nil || len(a.Val) > maxLink || strings.HasPrefix(a.Val, "#") {
			continue
		}
		if address := closed.Replace(absolute(s.base, a.Val)); len(address) <= maxLink {
			return address
		}
	}
	return ""
}

// closed encodes what would end the target of a link in Markdown, after which an address could begin another link.
var closed = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", `\`, "%5C")

func (s *stream) text(text string) {
	text = html.UnescapeString(text)
	switch {
	case len(s.hidden) > 0:
	case s.inTitle:
		s.title += text[:min(len(text), maxLink)]
	case s.pre:
		s.write(text)
	default:
		s.words(text)
	}
}

// words writes text with its white space collapsed to single blanks.
func (s *stream) words(text string) {
	lead := strings.TrimLeft(text, " \t\r\n") != text
	for word := range strings.FieldsSeq(text) {
		if (lead || s.space) && s.blank == 0 {
			s.out.WriteByte(' ')
		}
		s.write(word)
		lead = true
	}
	s.space = strings.TrimRight(text, " \t\r\n") != text
}

func (s *stream) write(text string) {
	if text == "" {
		return
	}
	if s.space && s.blank == 0 && text == "[" {
		s.out.WriteByte(' ')
	}
	s.out.WriteString(text)
	s.blank, s.space = 0, false
}

// breakLine ends the line, followed by at least n-1 empty lines.
func (s *stream) breakLine(n int) {
	for ; s.blank < n; s.blank++ {
		s.out.WriteByte('\n')
	}
	s.space = false
}
