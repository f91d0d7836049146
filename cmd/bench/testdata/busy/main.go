// Busy is a plugin whose tool computes for as many steps as it is told, and answers with its text.
package main

import (
	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type args struct {
	Text  string `json:"text"`
	Steps int    `json:"steps"`
}

func work(_ *sallyport.Call, a args) (string, error) {
	x := uint64(len(a.Text)) + 1
	for range a.Steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 { // which it never is: the steps are not to be left out
		return "", nil
	}
	return a.Text, nil
}

var plugin = sallyport.New("busy", "1", sallyport.Tool("work", "computes, and answers with its text", work))

func init() { plugin.Serve() }

func main() {}
