package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A page of any size and form is read within an instance's memory, or fails with an error.
func TestFetch_readsOrRefusesLargePages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for name, part := range map[string]string{
		"list":       `<li><a href="/item/%d">item %d</a></li>`,
		"paragraphs": `<p>Paragraph %d, with <b>some</b> text that goes on for a while, as text does; %d.</p>` + "\n",
		"table":      `<tr><td>%d<td class="x">%d</tr>`,
		"spans":      `<span>%d</span> %d`,
		"nested":     `<div><ul><li>%d %d`,
		"attributes": `<p data-a="%d" data-b="1" data-c="2" data-d="3" data-e="4" class="a b c">%d</p>`,
		"entities":   `&#%d;&amp;&eacute;%d `,
		"open":       `<b><i><u>%d <p>%d`,
		"text":       `%d plain words without any tags that go on and on %d `,
		"base":       `<a href="x%d">%d</a>`,
	} {
		var b strings.Builder
		b.WriteString("<!doctype html><html><head><title>" + name + "</title>")
		if name == "base" {
			b.WriteString(`<base href="https://x.example/` + strings.Repeat("long/", 20_000) + `">`)
		}
		b.WriteString("</head><body><main>first words ")
		for i := 0; b.Len() < 5<<20; i++ {
			fmt.Fprintf(&b, part, i, i)
		}
		pages["/"+name] = b.String()
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, pages[r.URL.Path])
	}))
	t.Cleanup(web.Close)
	s := connect(t, "plugins: {fetch: {grants: ['net: GET "+web.URL+"/**']}}", folder(t, bundled(t, "fetch")))
	for path, page := range pages {
		for _, size := range []int{900 << 10, 5 << 20} {
			pages[path] = page[:min(size, len(page))]
			r := call(t, s, "fetch-fetch", map[string]any{"url": web.URL + path, "length": 100})
			if got := text(r); r.IsError || !strings.Contains(got, strings.TrimPrefix(path, "/")+"\n") || !strings.Contains(got, "first words") {
				t.Errorf("%s, %d KiB: %.300s", path, size>>10, got)
			}
		}
	}
}
