package secret_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkRedactor(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var words, escapes, nested bytes.Buffer
	for words.Len() < 1<<20 {
		fmt.Fprintf(&words, `{"id":%d,"name":"a word %x","url":"https://example.com/a/%d"},`+"\n", r.IntN(1e6), r.IntN(1e6), r.IntN(99))
		fmt.Fprintf(&nested, `{\"id\":%d,\"name\":\"a word %x\",\"text\":\"one\\ntwo\"}\n`, r.IntN(1e6), r.IntN(1e6))
		fmt.Fprintf(&escapes, `\"%%25%%32%%35&amp;\\u0026`)
	}
	for name, text := range map[string][]byte{"words": words.Bytes(), "nested": nested.Bytes(), "escapes": escapes.Bytes()[:1<<18]} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			d := redactor()
			for b.Loop() {
				d.Text(text)
			}
		})
	}
}
