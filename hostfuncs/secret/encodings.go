package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// encodings are the texts that a value can be found as: itself, in JSON, percent-encoded, as hex, and in
// base64 at each of the three places at which it can begin.
func encodings(value string) []string {
	all := []string{value}
	all = append(all, inJSON(value)...)
	all = append(all, percent(value)...)
	lower := hex.EncodeToString([]byte(value))
	all = append(all, lower, strings.ToUpper(lower))
	all = append(all, inBase64(value)...)
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // the longest first
	return slices.Compact(slices.DeleteFunc(all, func(s string) bool { return len(s) < shortest/2 }))
}

// inJSON are the usual ways to write the value inside a JSON string.
func inJSON(value string) []string {
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil {
		return nil // cannot be: it is a string
	}
	text := strings.TrimSuffix(plain.String(), "\n")
	html, _ := json.Marshal(value)
	text = text[1 : len(text)-1]
	var ascii strings.Builder
	for _, r := range value {
		if r < 0x80 {
			one, _ := json.Marshal(string(r))
			ascii.Write(one[1 : len(one)-1])
		} else if r < 0x10000 {
			fmt.Fprintf(&ascii, `\u%04x`, r)
		} else {
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
	}
	return []string{text, string(html[1 : len(html)-1]), strings.ReplaceAll(text, "/", `\/`), ascii.String()}
}

// percent are the usual ways to write the value in an address or a form.
func percent(value string) []string {
	var every strings.Builder
	for i := range len(value) {
		fmt.Fprintf(&every, "%%%02X", value[i])
	}
	query, path := url.QueryEscape(value), url.PathEscape(value)
	all := []string{query, path, strings.ReplaceAll(query, "+", "%20"), every.String()}
	for _, s := range all[:4] {
		all = append(all, lowerEscapes(s))
	}
	return all
}

// lowerEscapes writes the digits of escapes in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// inBase64 are the characters that depend on the value alone, when one, two or no bytes of other text
// share its first group of three.
func inBase64(value string) []string {
	var all []string
	for phase := range 3 {
		padded := append(make([]byte, phase), value...)
		first := (phase*8 + 5) / 6
		whole := len(padded) * 8 / 6
		std := base64.RawStdEncoding.EncodeToString(padded)
		addr := base64.RawURLEncoding.EncodeToString(padded)
		all = append(all, std[first:whole], addr[first:whole])
	}
	return all
}
