package grant_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// unseen are characters that some server drops, ends a text at or treats as a blank: control, format, private-use,
// ignorable and separator characters of Unicode, all of the first plane, and samples of the unassigned ones.
func unseen() []string {
	var all []string
	for r := rune(0); r <= unicode.MaxRune; r++ {
		sample := r < 0xe000 || r >= 0xfb00 && r < 0x10000 || r%0x100 == 1
		if sample && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && !unicode.Is(unicode.Cs, r) {
			all = append(all, url.PathEscape(string(r)))
		}
	}
	for _, r := range []rune{0xa0, 0x1680, 0x2003, 0x2800, 0x3000, 0x378, 0xfdd0, 0xfffc, 0xfffd, 0xffff, 0x1fffe, 0x10ffff} {
		all = append(all, url.PathEscape(string(r)))
	}
	for c := 0x80; c <= 0xff; c++ {
		all = append(all, fmt.Sprintf("%%%02X", c), fmt.Sprintf("%%25%02x", c))
	}
	return append(all, "%25ad", "%u200b", "%25u00ad", "%E2%80%8B%E2%80%8B", "%00%00", "%EF%BB%BF%00")
}

// A denied path stays denied with each of these characters at each position.
func TestSet_Net_denyIgnoresUnseenInPath(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/open/admin/**", "deny: net: GET https://a.example/one")
	tried := 0
	for i, c := range unseen() {
		for _, path := range []string{"/open/admin/x", "/open/admin", "/one"} {
			for at := 1; at <= len(path); at++ {
				if i%len(path)+1 != at && i > 400 {
					continue // the rest have one position each
				}
				tried++
				text := path[:at] + c + path[at:]
				if u, ok := canonicalURL("https://a.example" + text); ok && s.Net("GET", u).Allowed {
					t.Fatalf("%s is allowed", text)
				}
			}
		}
	}
	t.Logf("%d spellings", tried)
}

// A denied parameter stays denied with each of these characters at each position of its name, before and after a
// different parameter.
func TestSet_Net_denyIgnoresUnseenInQuery(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/x?id", "deny: net: GET https://a.example/y?do=drop")
	for i, c := range unseen() {
		for _, query := range []string{"?id", "?do"} {
			for at := 1; at <= len(query); at++ {
				if i%3+1 != at && i > 400 {
					continue // the rest have one position each
				}
				name := query[1:at] + c + query[at:]
				for _, text := range []string{"/x?" + name + "=1", "/x?" + name, "/x?a=b&" + name + "=1", "/x?a=b;" + name + "=1&c", "/x;" + name + "=1", "/x%3F" + name + "=1"} {
					if query == "?do" {
						text = "/y" + text[2:]
						text = strings.TrimSuffix(strings.Replace(text, "=1", "=drop", 1), "?"+name)
					}
					if u, ok := canonicalURL("https://a.example" + text); ok && strings.Contains(text, "=") && s.Net("GET", u).Allowed {
						t.Fatalf("%s is allowed", text)
					}
				}
			}
		}
		for at := range len("drop") + 1 {
			text := "/y?do=" + "drop"[:at] + c + "drop"[at:]
			if u, ok := canonicalURL("https://a.example" + text); ok && s.Net("GET", u).Allowed {
				t.Fatalf("%s is allowed", text)
			}
		}
	}
}

// lookAlikes are the characters that servers map to an ASCII letter, or compare equal to it: other cases, widths,
// accents and styles.
func lookAlikes(c byte) []string {
	var all []string
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		bare := strings.Map(func(r rune) rune {
			if unicode.IsMark(r) {
				return -1
			}
			return unicode.ToLower(unicode.ToUpper(r))
		}, norm.NFKD.String(string(r)))
		if bare == string(rune(c)) {
			all = append(all, url.PathEscape(string(r)))
		}
	}
	return all
}

func TestSet_Net_denyCoversLookAlikes(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/admins/**", "deny: net: GET https://a.example/x?admins", "deny: net: GET https://a.example/y?do=admins")
	const word = "admins"
	tried := 0
	for at := range len(word) {
		for _, other := range append(lookAlikes(word[at]), map[byte][]string{'i': {"%C4%B1", "%C4%B0", "%C9%A8"}, 'd': {"%C4%91", "%CE%B4"}, 'a': {"%CE%B1", "%E1"}, 's': {"%C5%BF", "%CF%83"}, 'm': {"%C9%B1"}, 'n': {"%C5%8B"}}[word[at]]...) {
			text := word[:at] + other + word[at+1:]
			for _, path := range []string{"/" + text, "/" + text + "/x", "/x?" + text, "/x?a&" + text + "=1", "/y?do=" + text} {
				tried++
				if u, ok := canonicalURL("https://a.example" + path); !ok || s.Net("GET", u).Allowed {
					t.Errorf("%s is allowed", path)
				}
			}
		}
	}
	if t.Logf("%d spellings", tried); tried < 1000 {
		t.Error("too few")
	}
}

// endings are suffixes that servers remove from a path, and beginnings are prefixes that they ignore.
func TestSet_Net_denyCoversServerSpellings(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/open/administrator/**", "deny: net: GET https://a.example/open/web.config", "deny: net: GET https://a.example/run/index.php")
	for _, end := range []string{
		"::$DATA", ":$DATA", "::$data", ":$I30:$INDEX_ALLOCATION", "::$INDEX_ALLOCATION", "::%24DATA", "%3A%3A$DATA", "%253a%253a$DATA", "::$DATA.", "::$DATA%20", "%20::$DATA", ".::$DATA",
		".", "..", "...", ". .", "%20", "%20%20", ".%20.", "%20.", "%2E", "%252e", "%2520", "%09", "%0A", "%0D%0A", "%00", "%00.png", "%0a.png", "%0D%0AX:y", "%C2%A0", "%E3%80%80", "%E2%80%8B",
		";", ";a=b", ";a/", ";a.png", "%3Ba", "/", "//", "/.", "/./", "%2F", "%5C", "%5c%5c", "\\", "%C2%A5", "%E2%82%A9", "%2523", "%23a", "%3Fa", "%253fa=b", "%AD", "%A0", "%81", "%FF",
	} {
		for _, path := range []string{"/open/administrator", "/open/web.config", "/run/index.php"} {
			if u, ok := canonicalURL("https://a.example" + path + end); ok && s.Net("GET", u).Allowed {
				t.Errorf("%s%s is allowed", path, end)
			}
		}
	}
	for _, path := range []string{
		"/open/ADMINI~1", "/open/admini~1/x", "/open/ADMINI~2", "/open/ADB8C2~1/x", "/open/WEB~1.CON", "/open/web~1.con", "/open/ADMINI%7E1", "/open/adm%3C%3C", "/open/adm%3C", "/open/%3Cor", "/open/a%3E%3E%3E%3E%3E%3E%3E%3E%3E%3E%3E%3E",
		"/open/web%22config", "/open/web.*", "/open/web.confi%3F", "/open/(S(abc))/administrator", "/(S(abc))/open/web.config", "/open/(A(x)F(y))/web.config", "/open/%28S%28abc%29%29/administrator/x",
		"/open/admini%strator", "/open/admini%25strator", "/open/admini%2525strator", "/run/index.php/x", "/run/index.php/x/y.css", "/run/INDEX.PHP/x", "/run/index.php;a/x", "/run/index.php::$DATA/x", "/run/index%2Ephp/x",
		"/open/%E2%80%8B/administrator", "/open/%00/administrator", "/%E2%80%8B/open/web.config", "/open/%EF%BB%BF/%E2%80%8B/web.config", "/open%E2%81%84web.config", "/open%C2%A5web.config",
		"/open/.%E2%80%8B/web.config", "/open/.%AD/web.config", "/open/x/..%E2%80%8B/web.config", "/open/x/.%AD./web.config", "/open/x/..::$DATA/web.config",
	} {
		if u, ok := canonicalURL("https://a.example" + path); ok && s.Net("GET", u).Allowed {
			t.Errorf("%s is allowed", path)
		}
	}
}

// Names that a server reads as the denied one: a list, a part of it, a different separator between its words.
func TestSet_Net_denyCoversParameterSpellings(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/x?user_id", "deny: net: GET https://a.example/y?filter[id]", "deny: net: GET https://a.example/z?do=drop")
	for _, query := range []string{
		"/x?user_id=1", "/x?user.id=1", "/x?user%20id=1", "/x?user+id=1", "/x?user[id=1", "/x?user[id]=1", "/x?user-id=1", "/x?userId=1", "/x?user_id[]=1", "/x?user_id[0][a]=1", "/x?user_id.x=1", "/x?user_id(a)=1",
		"/x?user_id:list=1", "/x?_user_id=1", "/x?!user_id=1", "/x?$user_id=1", "/x?@user_id=1", "/x?%20user_id=1", "/x?+user_id=1", "/x?user_id%20=1", "/x?user_id->x=1", "/x?%22user_id%22=1", "/x?use%25r_id=1",
		"/x?a=b&amp;user_id=1", "/x?a=b%26user_id=1", "/x?a?user_id=1", "/x?a=b%23user_id=1", "/x?a=b%3Fuser_id=1", "/x?a%3Bb%3Buser_id=1", "/x;user_id=1", "/x;a=b;user_id=1", "/x%3Fuser_id=1", "/x%253Fuser_id=1", "/x%3Fa=b&user_id=1",
		"/y?filter[id]=1", "/y?filter.id=1", "/y?filter_id=1", "/y?filter[id][eq]=1", "/y?filter%5Bid%5D=1", "/y?filter%255Bid%255D=1", "/y?filter[%20id]=1",
		"/z?do=drop", "/z?do=%20drop", "/z?do=drop%20", "/z?do[]=drop", "/z?do=keep,drop", "/z?do=keep&DO=Drop", "/z?do=dr%25op", "/z?do=dr%C3%B6p",
	} {
		if u, ok := canonicalURL("https://a.example" + query); !ok || s.Net("GET", u).Allowed {
			t.Errorf("%s is allowed", query)
		}
	}
	for _, query := range []string{
		"/x", "/x?", "/x?user=1", "/x?id=1", "/x?user_ids=1", "/x?a_user_id=1", "/x?a=user_id", "/x?user=id", "/x?age%3E5", "/x?q=100%25", "/x?%D0%B8%D0%BC%D1%8F=1", "/x?gr%C3%B6%C3%9Fe=1", "/x?q=%E2%80%8B", "/x?q=%FF",
		"/y?filter=1", "/y?filter[ids]=1", "/y?filter[name]=id", "/z?do=dropped", "/z?do=keep", "/z?do=*", "/z?dont=drop", "/z?do=%D0%B4",
	} {
		if u, ok := canonicalURL("https://a.example" + query); !ok || !s.Net("GET", u).Allowed {
			t.Errorf("%s is refused", query)
		}
	}
}

// Honest requests near a denied address: titles in many scripts, versions, matrix and template characters.
func TestSet_Net_denyLeavesHonestRequests(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/wiki/special/**", "deny: net: GET https://a.example/wiki/talk:main", "deny: net: GET https://a.example/repos/o/next", "deny: net: GET https://a.example/wiki/delete?id")
	for _, path := range []string{
		"/wiki/%D0%9D%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D0%B8", "/wiki/%D9%85%DB%8C%E2%80%8C%D8%AE%D9%88%D8%A7%D9%87%D9%85", "/wiki/%E6%97%A5%E6%9C%AC%E8%AA%9E", "/wiki/%E3%82%AC%E3%83%A9%E3%82%B9", "/wiki/%ED%95%9C%EA%B5%AD%EC%96%B4",
		"/wiki/%E0%A4%B9%E0%A4%BF%E0%A4%A8%E0%A5%8D%E0%A4%A6%E0%A5%80", "/wiki/%CE%95%CE%BB%CE%BB%CE%AC%CE%B4%CE%B1", "/wiki/%D7%A2%D7%91%D7%A8%D7%99%D7%AA", "/wiki/%C3%98", "/wiki/%C3%86%C3%98%C3%85", "/wiki/caf%C3%A9", "/wiki/cafe%CC%81",
		"/wiki/%C5%BB%C3%B3%C5%82%C4%87", "/wiki/Ti%E1%BA%BFng_Vi%E1%BB%87t", "/wiki/Stra%C3%9Fe", "/wiki/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB", "/wiki/1%EF%B8%8F%E2%83%A3", "/wiki/C++", "/wiki/C%23", "/wiki/AC/DC", "/wiki/What%3F", "/wiki/100%25",
		"/wiki/Talk:%D0%9A%D0%BE%D1%82", "/wiki/talk:main2", "/wiki/File:A.jpg", "/wiki/a;b=c/d", "/wiki/a,b", "/wiki/(x)", "/wiki/(s)pecial", "/wiki/a~1b", "/~user/x", "/wiki/.well-known", "/wiki/a%20b.c", "/wiki/a.b.", "/wiki/%E2%80%8Bx",
		"/repos/o/next.js", "/repos/o/next-auth", "/repos/o/nex", "/repos/o/n%C3%AAx", "/v1/documents/x:batchUpdate", "/v1/{id}", "/v1/$count", "/v1/items(5)", "/v1/items('a')", "/v1/@me/!x", "/v1/a%2Fb%2Fc", "/v1/2026-11-22T10:00:00Z",
		"/wiki/caf%E9", "/wiki/del%C3%A9te2?id=1", "/wiki/delete?ids=1", "/wiki/delete?x=id", "/wiki/Delete%20me?id=1",
		"/wiki/%D9%85%DB%8C%E2%80%8C%D8%AE%E2%80%8C%D9%88%E2%80%8C%D8%A7%E2%80%8C%D9%87%E2%80%8C%D9%85%E2%80%8C%D9%85%E2%80%8C%D9%85%E2%80%8C%D9%85%E2%80%8C%D9%85%E2%80%8C%D9%85%E2%80%8C%D9%85",
	} {
		if u, ok := canonicalURL("https://a.example" + path); !ok || !s.Net("GET", u).Allowed {
			t.Errorf("%s is refused", path)
		}
	}
}

// The denial states the reading that it is based on.
func TestSet_Net_denyStatesReading(t *testing.T) {
	s := mustSet(t, "net: GET https://a.example/**", "deny: net: GET https://a.example/open/admin/**", "deny: net: GET https://a.example/x?id")
	const out, other = ", some of which leave ", " out or take it for another character"
	for path, want := range map[string]string{
		"/open/admin/x": "", "/x?id=1": "", "/open/ADMIN": "as servers may read it", "/open/ad%E2%80%8Bmin": "as servers may read it" + out + "U+200B" + other,
		"/open/ad%25ADmin": "as servers may read it" + out + "byte 0xAD" + other, "/x?i%00d=1": "as servers may read it" + out + "U+0000" + other,
	} {
		u := mustURL(t, "https://a.example"+path)
		if d := s.Net("GET", u); d.Allowed || !d.Grant.Deny || d.Misread != want {
			t.Errorf("%s: %q, want %q", path, d.Misread, want)
		}
	}
}

// A hostile address costs no more than its length.
func BenchmarkSet_Net_deny(b *testing.B) {
	s := mustSet(b, "net: GET https://a.example/**", "deny: net: GET https://a.example/open/admin/**", "deny: net: GET https://a.example/x?id")
	for name, path := range map[string]string{"plain": "/open/x", "unseen": "/open/" + strings.Repeat("%E2%80%8B", 800), "steps": "/open" + strings.Repeat("/%3F", 1500), "names": "/x?" + strings.Repeat("a%FF&", 1300), "kinds": "/open/" + strings.Repeat("%01%02%03%04%05%06%07%0f%25", 200)} {
		u := mustURL(b, "https://a.example"+path)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Net("GET", u)
			}
		})
	}
}
