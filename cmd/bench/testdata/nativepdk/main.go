// Echo answers with the text that it is given, built with Sallyport's PDK for Go. With work in its
// arguments it first counts that many words in a map, as tools do.
package main

import (
	"fmt"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type args struct {
	Text string `json:"text"`
	Work int    `json:"work,omitempty"`
}

var plugin = sallyport.New("echo", "1",
	sallyport.Tool("echo", "answers with its text", func(_ *sallyport.Call, a args) (string, error) {
		if countWords(a.Work) < 0 {
			return "", fmt.Errorf("the words cannot be counted")
		}
		return a.Text, nil
	}),
)

func countWords(n int) (sum int) {
	words := map[string]int{}
	for i := range n {
		words[fmt.Sprintf("word %d", i%97)] += i
	}
	for _, count := range words {
		sum += count
	}
	return sum
}

func init() { plugin.Serve() }

func main() {}
