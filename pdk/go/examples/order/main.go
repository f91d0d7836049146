// Order is a plugin that asks a person before it acts, and again afterwards. Its code is sequential, although a
// question may take minutes, and a different process may continue the call.
package main

import (
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type args struct {
	Shop string `json:"shop" doc:"where to order"`
	Item string `json:"item" doc:"what to order"`
}

type amount struct {
	Count int `json:"count" title:"How many?" minimum:"1" default:"1"`
}

type rating struct {
	Stars int `json:"stars" title:"How was it?" minimum:"1" maximum:"5"`
}

func order(c *sallyport.Call, a args) (string, error) {
	begin, number := time.Now(), sallyport.RandomSource{}.Uint64()
	want, err := sallyport.Elicit[amount](c, "How many of "+a.Item+" do you want?")
	if errors.Is(err, sallyport.ErrDeclined) {
		return "Nothing was ordered.", nil
	}
	if err != nil {
		return "", err
	}
	receipt, err := post(c, a, want.Count, begin, number)
	if err != nil {
		return "", err
	}
	liked, err := sallyport.Elicit[rating](c, "The receipt is "+receipt+".")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(want.Count) + " of " + a.Item + ", " + receipt + ", " + strconv.Itoa(liked.Stars) + " stars", nil
}

// post sends the order. On replay of the same call, its number and time are the same again.
func post(c *sallyport.Call, a args, count int, begin time.Time, number uint64) (string, error) {
	form := url.Values{
		"item": {a.Item}, "count": {strconv.Itoa(count)},
		"number": {strconv.FormatUint(number, 36)}, "time": {begin.UTC().Format(time.RFC3339Nano)},
	}
	r, err := c.Fetch(sallyport.HTTPRequest{Method: "POST", URL: a.Shop, Body: strings.NewReader(form.Encode()),
		Header: sallyport.Header{"Content-Type": {"application/x-www-form-urlencoded"}}})
	if err != nil {
		return "", err
	}
	receipt, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	return string(receipt), err
}

var plugin = sallyport.New("order", "1.0.0",
	sallyport.Want("elicitation", "", "asks how many to order, and how it was"),
	sallyport.Tool("order", "Orders something.", order),
)

func init() { plugin.Serve() }

func main() {}
