// Scenario is the plugin of pdk/scenario in Go: each library for authors has one, and all answer alike.
package main

import (
	"errors"
	"fmt"
	"strings"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type named struct {
	Name string `json:"name" doc:"who to greet"`
}

func hello(c *sallyport.Call, a named) (string, error) { return "Hello, " + a.Name + "!", nil }

type order struct {
	To      address `json:"to"`
	Lines   []line  `json:"lines"`
	Express bool    `json:"express" default:"false"`
}

type address struct {
	Street string `json:"street"`
	Floor  int    `json:"floor" default:"0"`
}

type line struct {
	Item  string `json:"item" enum:"espresso,filter"`
	Count int    `json:"count" default:"1" minimum:"1"`
}

func take(c *sallyport.Call, a order) (string, error) {
	items := make([]string, len(a.Lines))
	for i, l := range a.Lines {
		items[i] = fmt.Sprintf("%d %s", l.Count, l.Item)
	}
	text := fmt.Sprintf("%s to %s, floor %d", strings.Join(items, ", "), a.To.Street, a.To.Floor)
	if a.Express {
		text += ", express"
	}
	return text, nil
}

type numbers struct {
	Numbers []int `json:"numbers"`
}

type totals struct {
	Count int  `json:"count"`
	Total int  `json:"total"`
	Even  bool `json:"even"`
}

func sum(c *sallyport.Call, a numbers) (totals, error) {
	t := totals{Count: len(a.Numbers)}
	for _, n := range a.Numbers {
		t.Total += n
	}
	t.Even = t.Total%2 == 0
	return t, nil
}

var dot = []byte{0, 1, 2, 253, 254, 255}

func contents(c *sallyport.Call, _ sallyport.None) ([]sallyport.Content, error) {
	return []sallyport.Content{
		sallyport.Text("größer <&> \"quoted\"\n"),
		sallyport.Image(dot, "image/png"),
		sallyport.Audio(dot[:4], "audio/wav"),
		sallyport.Link("scenario://motto", "motto"),
		sallyport.Embed(sallyport.Contents{URI: "scenario://motto", MIMEType: "text/plain", Text: motto}),
		sallyport.Embed(sallyport.Contents{URI: "scenario://dot", MIMEType: "image/png", Blob: dot[:5]}),
	}, nil
}

func fail(c *sallyport.Call, _ sallyport.None) (string, error) {
	return "", fmt.Errorf("the tool says no")
}

const motto = "once, or said so"

func readMotto(c *sallyport.Call) (string, error) { return motto, nil }

func readDot(c *sallyport.Call) ([]byte, error) { return dot, nil }

func city(c *sallyport.Call, v sallyport.Vars) (string, error) {
	if v["name"] == "nowhere" {
		return "", sallyport.NotFound(c.URI())
	}
	return "The city of " + v["name"], nil
}

type review struct {
	File string `json:"file" doc:"what to look at"`
	Tone string `json:"tone,omitempty"`
}

func write(c *sallyport.Call, a review) ([]sallyport.Message, error) {
	text := "Review " + a.File + "."
	if a.Tone != "" {
		text += " Be " + a.Tone + "."
	}
	return []sallyport.Message{
		sallyport.User(sallyport.Text(text)),
		sallyport.Assistant(sallyport.Text("I begin with " + a.File + ".")),
	}, nil
}

func fitting(typed string, all ...string) []string {
	var fit []string
	for _, one := range all {
		if strings.HasPrefix(one, typed) {
			fit = append(fit, one)
		}
	}
	return fit
}

func tones(c *sallyport.Call, typed string) ([]string, error) {
	all := []string{"kind", "strict", "stern"}
	if file, ok := c.Chosen()["file"]; ok {
		all = append(all, c.Argument()+" of "+c.Name()+" for "+file)
	}
	return fitting(typed, all...), nil
}

func cities(c *sallyport.Call, typed string) ([]string, error) {
	return fitting(typed, "Paris", "São Paulo", "São Tomé"), nil
}

type choice struct {
	Colour string `json:"colour" enum:"red,green"`
	Count  int    `json:"count"`
}

func ask(c *sallyport.Call, _ sallyport.None) (string, error) {
	a, err := sallyport.Elicit[choice](c, "Which colour, and how many?")
	switch err {
	case sallyport.ErrDeclined:
		return "declined", nil
	case sallyport.ErrCancelled:
		return "dismissed", nil
	}
	return fmt.Sprintf("%d × %s", a.Count, a.Colour), err
}

func think(c *sallyport.Call, _ sallyport.None) (string, error) {
	a, err := sallyport.Sample(c, "Why?", 50)
	return a.Model + " says: " + a.Text(), err
}

func roots(c *sallyport.Call, _ sallyport.None) (string, error) {
	all, err := sallyport.Roots(c)
	var uris []string
	for _, r := range all {
		uris = append(uris, r.URI)
	}
	return strings.Join(uris, " "), err
}

type page struct {
	Path string `json:"path"`
}

func fetch(c *sallyport.Call, a page) (string, error) {
	r, err := c.Get(sallyport.Config("WEB", "") + a.Path)
	if err != nil {
		return "", err
	}
	body, err := r.Body.ReadAll(1 << 20)
	return fmt.Sprintf("%d %s", r.Status, body), err
}

func post(c *sallyport.Call, _ sallyport.None) (string, error) {
	r, err := c.Fetch(sallyport.HTTPRequest{
		Method: "POST", URL: sallyport.Config("WEB", "") + "/echo",
		Header: sallyport.Header{"Content-Type": {"text/plain"}}, Body: strings.NewReader("größer"),
	})
	if err != nil {
		return "", err
	}
	body, err := r.Body.ReadAll(1 << 20)
	return string(body), err
}

func forbidden(c *sallyport.Call, _ sallyport.None) (string, error) {
	_, err := c.Get("https://example.com/")
	return "", err
}

type refusal struct {
	Kind string `json:"kind" enum:"denied,invalid,unsupported,unavailable,timeout,limit,conflict"`
}

func provoke(c *sallyport.Call, kind string) error {
	switch kind {
	case "denied":
		_, err := c.Get("https://example.com/")
		return err
	case "invalid":
		_, _, err := sallyport.KVGet[int](c, "")
		return err
	case "unsupported":
		return c.Ask("no/such", nil, nil)
	case "unavailable":
		_, err := c.Get(sallyport.Config("WEB", "") + "/broken")
		return err
	case "timeout":
		return c.Ask("http/fetch", map[string]any{"method": "GET", "url": sallyport.Config("WEB", "") + "/slow", "timeoutMs": 50}, nil)
	case "limit":
		_, err := sallyport.Sample(c, "Why?", 5000)
		return err
	}
	_, err := sallyport.KVSet(c, "never", 1, sallyport.IfVersion(7))
	return err
}

func refused(c *sallyport.Call, a refusal) (string, error) {
	e, ok := provoke(c, a.Kind).(*sallyport.AskError)
	if !ok {
		return "not refused", nil
	}
	text := string(e.Kind) + ": " + e.Message
	if e.Hint != "" {
		text += " [" + e.Hint + "]"
	}
	return text, nil
}

func nested(c *sallyport.Call, _ sallyport.None) (string, error) {
	return sallyport.CallTool[string](c, "fail", nil)
}

type visitor struct {
	Again bool `json:"again" default:"false"`
}

func visit(c *sallyport.Call, a visitor) (string, error) {
	if !a.Again {
		if err := sallyport.KVDelete(c, "visits"); err != nil {
			return "", err
		}
	}
	n, _, err := sallyport.KVGet[int](c, "visits")
	if err != nil {
		return "", err
	}
	_, err = sallyport.KVSet(c, "visits", n+1)
	return fmt.Sprintf("visit %d", n+1), err
}

func keys(c *sallyport.Call, _ sallyport.None) (string, error) {
	for i := range 1001 {
		if _, err := sallyport.KVSet(c, fmt.Sprintf("key/%d", i), i); err != nil {
			return "", err
		}
	}
	var all []sallyport.KVKey
	for more := true; more; {
		after := ""
		if len(all) > 0 {
			after = all[len(all)-1].Key
		}
		var next []sallyport.KVKey
		var err error
		if next, more, err = sallyport.KVList(c, "key/", after, 0); err != nil {
			return "", err
		}
		all = append(all, next...)
	}
	return fmt.Sprintf("%d keys, %s to %s", len(all), all[0].Key, all[len(all)-1].Key), nil
}

type audience struct {
	Show bool `json:"show" default:"false"`
}

func news(c *sallyport.Call, a audience) (string, error) {
	change := c.HideTools
	if a.Show {
		change = c.ShowTools
	}
	return "told", errors.Join(change("post"), c.ResourceUpdated("scenario://motto"))
}

func steps(c *sallyport.Call, _ sallyport.None) (string, error) {
	c.Release()
	c.Progress(1, 2, "half")
	c.Log(sallyport.LevelWarning, "", map[string]any{"step": 1})
	c.Progress(2, 2, "")
	return "done", nil
}

func twice(c *sallyport.Call, a named) (string, error) {
	once, err := sallyport.CallTool[string](c, "hello", a)
	return once + " " + once, err
}

var plugin = sallyport.New("scenario", "1.0.0",
	sallyport.Description("Answers the scenario."),
	sallyport.Tool("hello", "Greets someone.", hello, sallyport.ReadOnly()),
	sallyport.Tool("order", "Takes an order.", take),
	sallyport.Tool("sum", "Adds numbers.", sum),
	sallyport.Tool("contents", "Has a block of each kind.", contents),
	sallyport.Tool("fail", "Fails.", fail),
	sallyport.Tool("ask", "Asks the person.", ask),
	sallyport.Tool("think", "Asks the model.", think),
	sallyport.Tool("roots", "Lists the client's folders.", roots),
	sallyport.Tool("fetch", "Gets a page.", fetch),
	sallyport.Tool("post", "Sends a text.", post),
	sallyport.Tool("forbidden", "Asks for a page that no grant allows.", forbidden),
	sallyport.Tool("refused", "Tells how the host refuses.", refused),
	sallyport.Tool("visit", "Counts visits.", visit),
	sallyport.Tool("keys", "Keeps many keys.", keys),
	sallyport.Tool("news", "Tells of changes.", news),
	sallyport.Tool("steps", "Reports progress.", steps),
	sallyport.Tool("twice", "Calls hello.", twice),
	sallyport.Tool("nested", "Calls fail.", nested),
	sallyport.Resource("scenario://motto", "motto", "A text.", readMotto, sallyport.MIMEType("text/plain")),
	sallyport.Resource("scenario://dot", "dot", "Some bytes.", readDot, sallyport.MIMEType("image/png")),
	sallyport.Template("scenario://city/{name}", "city", "A city.", city, sallyport.MIMEType("text/plain"), sallyport.Completion("name", cities)),
	sallyport.Prompt("review", "Asks for a review.", write, sallyport.Completion("tone", tones)),
	sallyport.Want("kv", "1MiB", "counts visits"),
)

func init() { plugin.Serve() }

func main() {}
