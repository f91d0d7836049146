package sallyport

import (
	"reflect"
	"testing"

	"github.com/sallyport-mcp/sallyport/pdk/go/internal/schema"
)

// New panics on an error in the plugin's source, with a message that names the place.
func TestNew_panicsWithThePlaceOfAMistake(t *testing.T) {
	tool := func(name string, o ...Option) Item {
		return Tool(name, "", func(*Call, None) (string, error) { return "", nil }, o...)
	}
	for _, c := range []struct {
		want string
		make func()
	}{
		{"sallyport: tool a is there twice", func() { New("", "", tool("a"), tool("a")) }},
		{"sallyport: MIMEType does not belong on tool a", func() { tool("a", MIMEType("text/plain")) }},
		{"sallyport: the schema of tool a is not JSON", func() { tool("a", InputSchema("{")) }},
		{"sallyport: field X: tag minimum: low is not a number", func() {
			schema.Of(reflect.TypeFor[struct {
				X int `minimum:"low"`
			}](), schema.Input)
		}},
		{"sallyport: field X: tag default: cannot hold y", func() {
			schema.Of(reflect.TypeFor[struct {
				X int `default:"y"`
			}](), schema.Input)
		}},
		{"sallyport: field X: tag enum: only for strings, numbers and booleans; make a type of it that is a Schemer", func() {
			schema.Of(reflect.TypeFor[struct {
				X []string `enum:"a,b"`
			}](), schema.Input)
		}},
		{"sallyport: a chan int has no JSON", func() { schema.Of(reflect.TypeFor[struct{ X chan int }](), schema.Input) }},
		{"sallyport: prompt p: argument X is not a string", func() {
			Prompt("p", "", func(*Call, struct{ X int }) (string, error) { return "", nil })
		}},
		{"sallyport: template {x}: does not begin with a literal scheme", func() {
			Template("{x}", "", "", func(*Call, Vars) (string, error) { return "", nil })
		}},
		{"sallyport: tool s: its arguments are an object, and string holds none; take a struct with a field for each argument", func() {
			Tool("s", "", func(*Call, string) (string, error) { return "", nil })
		}},
		{"sallyport: tool l: its arguments are an object, and []string holds none; take a struct with a field for each argument", func() {
			Tool("l", "", func(*Call, []string) (string, error) { return "", nil }, InputSchema(`{"type":"object"}`))
		}},
		{"sallyport: want net: json: unsupported type: chan int", func() { Want("net", make(chan int), "") }},
	} {
		t.Run(c.want, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}()
			c.make()
			t.Error("got no panic, want one")
		})
	}
}
