// Command fetcher sends one HTTP request and prints the response. It knows nothing of Sallyport.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	how, method, url := os.Args[1], os.Args[2], os.Args[3]
	size, _ := strconv.Atoi(os.Args[4])
	client := http.Client{}
	var body io.Reader
	if size > 0 {
		body = io.LimitReader(strings.NewReader(strings.Repeat("0123456789abcdef", size/16+1)), int64(size))
	}
	ctx := context.Background()
	switch how {
	case "timeout":
		client.Timeout = 300 * time.Millisecond
	case "cancelled":
		var cancel func()
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	case "stay":
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Header["X-Two"] = []string{"a", "b"}
	req.Header.Set("Connection", "keep-alive")
	res, err := client.Do(req)
	if err != nil {
		fmt.Println("timeout:", errors.Is(err, context.DeadlineExceeded), "cancelled:", errors.Is(err, context.Canceled))
		if how == "deny" {
			fmt.Println(err)
		}
		return
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if how == "timeout" {
		fmt.Println("timeout:", errors.Is(err, context.DeadlineExceeded))
	} else if err != nil {
		fmt.Println("broke off:", errors.Is(err, io.ErrUnexpectedEOF))
	}
	fmt.Println(res.Status, res.Proto, res.ContentLength, res.Request.URL, res.Header["X-Two"], res.Header.Get("Location"))
	fmt.Printf("%d %x\n", len(data), sha256.Sum256(data))
}
