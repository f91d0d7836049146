package clients

import (
	"reflect"
	"testing"
)

func TestClient_entriesThatLaunchAHost(t *testing.T) {
	for _, c := range []struct {
		client, text string
		want         []Entry
	}{
		{"claude-code", "", nil},
		{"claude-code", `{"other": 1}`, nil},
		{"claude-code", "\ufeff" + `{"mcpServers": { // mine
			"b": {"command": "C:\\Tools\\Sallyport.exe", "args": ["serve", "D:\\plugins"]},
			"a": {"command": "sallyport", "args": []},
			"web": {"type": "http", "url": "http://127.0.0.1:8470/mcp"},
			"npx": {"command": "npx", "args": ["serve", "sallyport"]}, }}`,
			[]Entry{{"a", "sallyport", ""}, {"b", `C:\Tools\Sallyport.exe`, `D:\plugins`}}},
		{"codex", "[mcp_servers.tools]\ncommand = '/usr/bin/sallyport'\nargs = ['serve', '/p']\n", []Entry{{"tools", "/usr/bin/sallyport", "/p"}}},
		{"codex", "model = 'x'\n", nil},
	} {
		client, err := Find(c.client)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.Entries([]byte(c.text)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", c.text, got, err, c.want)
		}
	}
	client, _ := Find("claude-code")
	for _, bad := range []string{"{", `{"mcpServers": []}`, `{"mcpServers": {"a": {}, "a": {}}}x`} {
		if got, err := client.Entries([]byte(bad)); err == nil {
			t.Errorf("%s: got %+v, want an error", bad, got)
		}
	}
}
