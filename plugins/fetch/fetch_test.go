package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/sallyporttest"
	"golang.org/x/net/html"
)

// site serves a type and a body for each path.
func site(pages map[string][2]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<h1>Nothing here</h1><script>x()</script>")
			return
		}
		w.Header()["Content-Type"] = nil
		if p[0] != "" {
			w.Header().Set("Content-Type", p[0])
		}
		fmt.Fprint(w, p[1])
	})
}

const article = `<!DOCTYPE html><html><head><title>A  page
of text</title><base href="/docs/"><style>p{}</style></head><body>
<header>Site head</header><nav><a href="/">Home</a></nav>
<main><h1>Title &amp; more</h1><p>Some <b>bold</b> text with <a href="x?y=1#z">a link</a>, <a href="#here">a jump</a>
and <a href="javascript:alert(1)">a trap</a>.</p><!-- a remark -->
<aside>Related</aside><p hidden>hidden</p><p style="display: none">not shown</p>
<ul><li>one</li><li>two</li></ul><pre><code class="language-go">x := 1</code></pre>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<img src="pic.png" alt="a picture"><img src="data:image/png;base64,AAAA" alt="inline">
<form><input value="typed"><button>Send</button></form><script>evil()</script></main>
<footer>Site foot</footer></body></html>`

const articleMarkdown = `A page of text
https://example.com/a

# Title & more

Some **bold** text with [a link](https://example.com/docs/x?y=1#z), [a jump](#here) and [a trap]().

- one
- two

` + "```go\nx := 1\n```" + `

| a | b |
|---|---|
| 1 | 2 |

![a picture](https://example.com/docs/pic.png)`

func TestFetch_convertsPagesToMarkdown(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	h.HTTP(site(map[string][2]string{"/a": {"text/html; charset=utf-8", article}}))
	if got := h.Call("fetch", `{"url":"example.com/a#part"}`).Text(); got != articleMarkdown {
		t.Errorf("got\n%s\nwant\n%s", got, articleMarkdown)
	}
	whole := h.Call("fetch", `{"url":"https://example.com/a","whole":true}`).Text()
	for _, part := range []string{"Site head", "Home", "Related", "Site foot", "Title & more"} {
		if !strings.Contains(whole, part) {
			t.Errorf("whole page: got %q, want %q in it", whole, part)
		}
	}
	for _, part := range []string{"evil", "hidden", "not shown", "typed", "Send", "a remark", "base64"} {
		if strings.Contains(whole, part) {
			t.Errorf("whole page: got %q, want no %q in it", whole, part)
		}
	}
	if raw := h.Call("fetch", `{"url":"https://example.com/a","raw":true}`).Text(); !strings.HasSuffix(raw, article) {
		t.Errorf("raw: got %s, want %s at its end", raw, article)
	}
}

func TestFetch_returnsTheMainPart(t *testing.T) {
	filler := strings.Repeat("many words of the page ", 40)
	for name, c := range map[string][2]string{
		"article":           {`<nav>menu</nav><article>` + filler + `</article><footer>foot</footer>`, filler},
		"role":              {`<div>menu</div><div role="main">` + filler + `</div>`, filler},
		"many articles":     {`<header>head</header><article>first ` + filler + `</article><article>second</article><footer>foot</footer>`, "first " + filler + "\n\nsecond"},
		"main with nothing": {`<main>tiny</main><div>` + filler + `</div><footer>foot</footer>`, "tiny\n\n" + filler},
		"nothing marked":    {`<div role="navigation">menu</div><p>` + filler + `</p><aside>ad</aside>`, filler},
	} {
		_, got := markdown("<body>"+c[0]+"</body>", "https://x/", false)
		if got != strings.TrimSpace(strings.ReplaceAll(c[1], " \n", "\n")) {
			t.Errorf("%s: got %q, want %q", name, got, c[1])
		}
	}
}

func TestFetch_returnsARange(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	h.HTTP(site(map[string][2]string{"/t": {"text/plain; charset=utf-8", "äöü0123456789"}}))
	for args, want := range map[string]string{
		`"length":3`:              "https://x/t\ncharacters 0 to 3 of 13; for more call again with start 3\n\näöü",
		`"start":3,"length":4`:    "https://x/t\ncharacters 3 to 7 of 13; for more call again with start 7\n\n0123",
		`"start":11,"length":100`: "https://x/t\ncharacters 11 to 13 of 13\n\n89",
		`"length":13`:             "https://x/t\n\näöü0123456789",
	} {
		if got := h.Call("fetch", `{"url":"https://x/t",`+args+`}`).Text(); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	if r := h.Call("fetch", `{"url":"https://x/t","start":13}`); !r.IsError || r.Text() != "start is 13, but https://x/t has only 13 characters" {
		t.Errorf("past the end: got %s, want an error with the start and 13 characters", r.Raw)
	}
}

func TestFetch_decodesCharsets(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	h.HTTP(site(map[string][2]string{
		"/header": {"text/html; charset=iso-8859-1", "<p>gr\xfc\xdfe</p>"},
		"/meta":   {"text/html", `<meta charset="shift_jis"><p>` + "\x93\xfa\x96{</p>"},
		"/guess":  {"text/html", "<p>\x93quoted\x94</p>"},
		"/utf8":   {"text/html", "<p>日本</p>"},
		"/bom":    {"text/plain", "\xff\xfea\x00b\x00"},
		"/plain":  {"text/plain", "日本"},
		"/json":   {"application/json", `{"a":"ü"}`},
		"/wrong":  {"text/plain; charset=klingon", "plain"},
		"/late":   {"text/html", "<p>" + strings.Repeat("x ", 2000) + "日本 ü"},
		"/latin":  {"text/html", `<meta charset="iso-8859-1"><p>` + "gr\xfc\xdfe"},
		"/twice":  {"text/plain", "<meta charset=shift_jis> gr\xfc\xdfe"},
		"/mark":   {"text/html", "\xef\xbb\xbf<p>日本"},
	}))
	for path, want := range map[string]string{
		"/header": "grüße", "/meta": "日本", "/guess": "“quoted”", "/utf8": "日本", "/bom": "ab", "/plain": "日本",
		"/json": `{"a":"ü"}`, "/wrong": "plain",
		"/late": "日本 ü", "/latin": "grüße", "/twice": "grüße", "/mark": "日本",
	} {
		if got := h.Call("fetch", `{"url":"https://x`+path+`"}`).Text(); !strings.HasSuffix(strings.TrimPrefix(got, "https://x"+path+"\n\n"), want) {
			t.Errorf("%s: got %q, want an end of %q", path, got, want)
		}
	}
}

// A body truncated within a character is decoded up to it.
func TestDecode_stopsBeforeACutCharacter(t *testing.T) {
	for in, want := range map[string]string{"日本"[:5]: "日", "a\xf0\x9f\x98": "a", "a\xff": "aÿ", "日\xe6": "日", "\xe6": "", "gr\xfc\xe6": "grüæ", "": ""} {
		if got := decode([]byte(in), "", false); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestStreamed_convertsWithoutATree(t *testing.T) {
	title, text := streamed(`<html><head><title>A &amp; B</title><style>x{}</style></head><body><nav>menu<nav>x</nav></nav>
		<h1>Head <b>bold</b></h1><p>one <a href="/x?a=1&amp;b=2">link</a>, two<br>three</p>
		<ul><li>a<li><a href="javascript:x()">b</a></ul><table><tr><th>h<td>d<tr><td>e</table><pre>  keep
		this</pre><script>if (a < b) {}</script><p>end &lt;here&gt;`, "https://x.example/dir/page")
	want := "# Head bold\n\none [link](https://x.example/x?a=1&b=2), two\nthree\n\n- a\n- b\n\n | h | d\n | e\n\n  keep\n\t\tthis\n\nend <here>"
	if title != "A & B" || text != want {
		t.Errorf("%q %q\nwant %q", title, text, want)
	}
}

func TestFetch_handlesEachContentType(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	h.HTTP(site(map[string][2]string{
		"/png":     {"image/png", "\x89PNG"},
		"/svg":     {"image/svg+xml", "<svg/>"},
		"/big.png": {"image/png", strings.Repeat("x", maxImage+1)},
		"/pdf":     {"application/pdf", "%PDF\x00"},
		"/octets":  {"application/octet-stream", "\x00\x01"},
		"/sniffed": {"application/octet-stream", "  <!doctype HTML><title>T</title><p>text"},
		"/empty":   {"text/html", "<html></html>"},
		"/none":    {"", "just text"},
		"/big":     {"text/plain", strings.Repeat("y", maxBody+1)},
	}))
	if r := h.Call("fetch", `{"url":"https://x/png"}`); r.IsError || r.Content[1].Type != "image" || string(r.Content[1].Data) != "\x89PNG" {
		t.Errorf("png: got %s, want an image of the bytes", r.Raw)
	}
	for path, want := range map[string]string{
		"/svg": "https://x/svg\n\n<svg/>", "/sniffed": "T\nhttps://x/sniffed\n\ntext",
		"/empty": "https://x/empty\n\n(the page has no text)", "/none": "https://x/none\n\njust text",
	} {
		if r := h.Call("fetch", `{"url":"https://x`+path+`"}`); r.IsError || r.Text() != want {
			t.Errorf("%s: got %s, want %q", path, r.Raw, want)
		}
	}
	for path, want := range map[string]string{
		"/big.png": "an image of more than 180 KiB", "/pdf": "is application/pdf, 5 bytes: not a text or an image",
		"/octets": "is application/octet-stream, 2 bytes",
		"/absent": "https://x/absent answered 404\n\n# Nothing here",
	} {
		if r := h.Call("fetch", `{"url":"https://x`+path+`"}`); !r.IsError || !strings.Contains(r.Text(), want) {
			t.Errorf("%s: got %.300s, want an error with %q", path, r.Raw, want)
		}
	}
	if got := h.Call("fetch", `{"url":"https://x/big","length":5}`).Text(); !strings.Contains(got, "only the first 4 MiB of the page were read\n\nyyyyy") {
		t.Errorf("big: got %.300s, want %q in it", got, "only the first 4 MiB of the page were read\n\nyyyyy")
	}
}

func TestFetch_resolvesLinksAfterARedirect(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	h.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "https://y.example/new/", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="rel">l</a> `, r.Header.Get("Accept")[:13])
	}))
	if got := h.Call("fetch", `{"url":"https://x/old"}`).Text(); got != "https://y.example/new/\n\n[l](https://y.example/new/rel) text/markdown" {
		t.Errorf("got %q, want the link of the new address for text/markdown", got)
	}
}

func TestFetch_reportsRefusals(t *testing.T) {
	h := sallyporttest.New(t, plugin)
	if r := h.Call("fetch", `{"url":"https://x/"}`); !r.IsError || r.Text() != "http/fetch is not granted" {
		t.Errorf("got %s, want an error that http/fetch is not granted", r.Raw)
	}
	for url, want := range map[string]string{
		"file:///etc/passwd": "file URLs cannot be read", "https://": "names no host", "https://a b/": "is not a URL", "ftp://x/": "ftp URLs",
	} {
		if r := h.Call("fetch", `{"url":"`+url+`"}`); !r.IsError || !strings.Contains(r.Text(), want) || len(h.Asked()) > 0 {
			t.Errorf("%s: got %s, asked %v; want an error with %q, nothing asked", url, r.Raw, h.Asked(), want)
		}
	}
}

// A page that is nested too deeply for the parser is still read.
func TestMarkdown_readsDeeplyNestedPages(t *testing.T) {
	deep := strings.Repeat("<div>", 5000) + "the text" + strings.Repeat("</div>", 5000)
	if _, got := markdown(deep, "https://x/", false); got != "the text" {
		t.Errorf("got %.100q, want \"the text\"", got)
	}
}

// A cell with a span of a million columns is bounded.
func TestMarkdown_boundsSpans(t *testing.T) {
	_, got := markdown("<table><tr><th>a<th>b</tr><tr><td colspan=999999999 rowspan=999999999>x<td colspan='2'>y</table>", "https://x/", false)
	if want := "| a | b |   |\n|---|---|---|\n| x | y |   |"; got != want {
		t.Errorf("got %.200q, want %.200q", got, want)
	}
}

// An address that runs code is shown by neither way to read a page, however it is written.
func TestMarkdown_showsNoAddressThatRunsCode(t *testing.T) {
	for _, address := range []string{
		"javascript:alert(1)", "javascript:alert(1)\n=", " \x01JavaScript:alert(1)", "java\nscript:alert(1)", "javascript:%zz",
		"vbscript:x", "data:text/html,<script>alert(1)</script>", "blob:x", "//[::1", "http://a b/",
	} {
		page := `<a href="` + html.EscapeString(address) + `">link</a> <img alt="" src="` + html.EscapeString(address) + `">`
		for way, read := range map[string]func() (string, string){
			"markdown": func() (string, string) { return markdown(page, "https://x/", true) },
			"streamed": func() (string, string) { return streamed(page, "https://x/") },
		} {
			if _, got := read(); strings.TrimSpace(got) != "link" && got != "[link]()" {
				t.Errorf("%s %q: got %q, want no address", way, address, got)
			}
		}
	}
	for address, want := range map[string]string{
		"  /a\n/b\t ": "https://x/a/b", "mailto:a@b.c": "mailto:a@b.c", "tel:+1": "tel:+1", "ftp://y/z": "ftp://y/z", "HTTP://y": "http://y",
		"/50%-off%%41": "https://x/50%25-off%25%41", "http://y/100%": "http://y/100%25",
	} {
		page := `<a href="` + html.EscapeString(address) + `">link</a>`
		if _, got := markdown(page, "https://x/", true); got != "[link]("+want+")" {
			t.Errorf("markdown %q: got %q, want %q", address, got, want)
		}
		if _, got := streamed(page, "https://x/"); got != "[link]("+want+")" {
			t.Errorf("streamed %q: got %q, want %q", address, got, want)
		}
	}
}

// An address does not end the target of its link, after which it could begin another one, with code.
func TestMarkdown_keepsAddressesInTheirLinks(t *testing.T) {
	for address, want := range map[string]string{
		"mailto:x) [y](javascript:alert(1)": "mailto:x%29%20[y]%28javascript:alert%281%29",
		"/a?b=)[y](javascript:1":            "https://x/a?b=%29[y]%28javascript:1",
		"/a#<b>":                            "https://x/a#%3Cb%3E",
		`/a?b\`:                             "https://x/a?b%5C",
		"http://[::1]/":                     "http://[::1]/",
	} {
		page := `<a href="` + html.EscapeString(address) + `">link</a>`
		if _, got := streamed(page, "https://x/"); got != "[link]("+want+")" {
			t.Errorf("streamed %q: got %q, want %q", address, got, want)
		}
		if _, got := markdown(page, "https://x/", true); strings.Contains(got, "](javascript") {
			t.Errorf("markdown %q: got %q, want no address that runs code", address, got)
		}
	}
}

func TestMarkdown_ignoresBasesThatAreNotOfTheWeb(t *testing.T) {
	for base, want := range map[string]string{
		"data:,": "https://x/a/b", "javascript:x": "https://x/a/b", "mailto:y": "https://x/a/b", "//y/": "https://y/b",
	} {
		if _, got := markdown(`<base href="`+base+`"><a href="b">link</a>`, "https://x/a/", true); got != "[link]("+want+")" {
			t.Errorf("base %s: got %q, want %q", base, got, want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add(article)
	f.Add("<table><tr><td colspan=999>")
	f.Add("<main><a href='//[::1'>x</a><base href=':'>")
	f.Add("<a href=\"javascript:alert(1)\n=\">f")
	shown := regexp.MustCompile(`^(#|$|https?:|ftp:|mailto:|tel:)`)
	f.Fuzz(func(t *testing.T, source string) {
		markdown(source, "https://example.com/", false)
		doc, err := html.Parse(strings.NewReader(source))
		if err != nil {
			return
		}
		makeAbsolute(doc, baseOf(doc, "https://example.com/"))
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				if (a.Key == "href" || a.Key == "src") && !shown.MatchString(a.Val) {
					t.Errorf("%q: %s is %q, want an address of the web", source, a.Key, a.Val)
				}
			}
		}
	})
}
