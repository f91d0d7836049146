// Command get prints the answer to an HTTP request: GET, or POST with standard input as its body. Built for WASI it is a
// program for a tool file, whose requests pass the gate of Sallyport.
//
//	GOOS=wasip1 GOARCH=wasm go build -o get.wasm ./examples/get
//	get URL [post]
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"

	_ "github.com/sallyport-mcp/sallyport/pdk/go/nethttp"
)

func main() {
	if err := get(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func get(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: get URL [post]")
	}
	do := func() (*http.Response, error) { return http.Get(args[0]) }
	if len(args) > 1 {
		do = func() (*http.Response, error) { return http.Post(args[0], "text/plain", os.Stdin) }
	}
	res, err := do()
	if err != nil {
		return err
	}
	defer res.Body.Close()
	fmt.Println(res.Status, res.Header.Get("X-Was"))
	_, err = io.Copy(os.Stdout, res.Body)
	return err
}
