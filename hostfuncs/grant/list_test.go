package grant_test

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
)

func TestFiles_List_allowedAboveGrantedPaths(t *testing.T) {
	const hint = "fs: read ~/work/*"
	for _, tt := range []struct {
		lines   []string
		path    string
		want    bool
		suggest string
	}{
		{nil, "/home/me/work", false, hint},
		{[]string{"fs: read ~/work"}, "/home/me/work", false, hint}, // the folder, and none of its names
		{[]string{"fs: read ~/work/*"}, "/home/me/work", true, ""},
		{[]string{"fs: read ~/work/*"}, "/home/me/work/sub", false, "fs: read ~/work/sub/*"},
		{[]string{"fs: read ~/work/**"}, "/home/me/work/sub", true, ""},
		{[]string{"fs: write ~/work/sub/x"}, "/home/me/work", true, ""},
		{[]string{"fs: read ~/**"}, "/home/me", true, ""},
		{[]string{"fs: read ~"}, "/home", true, ""},
		{[]string{"fs: read ~"}, "/home/me", false, "fs: read ~/*"},
		{[]string{"fs: read ~/work/**", "deny: fs: read ~/work/sub/**"}, "/home/me/work/sub", false, ""},
		{[]string{"fs: read ~/**"}, "/home/me/.ssh", false, "fs: read ~/.ssh/*"},
		{nil, "/", false, ""},
	} {
		var all []grant.Grant
		for _, line := range tt.lines {
			all = append(all, parsed(t, line))
		}
		if got := grant.NewSet(all...).Files(home()).List(tt.path); got.Allowed != tt.want || got.Suggest != tt.suggest {
			t.Errorf("%v: %s: %+v", tt.lines, tt.path, got)
		}
	}
	if got := grant.NewSet(parsed(t, "fs: read ~/**")).Under(grant.NewSet(parsed(t, "fs: read ~/other/**"))).Files(home()).List("/home/me/work"); got.Allowed || got.Suggest != "" {
		t.Errorf("over the ceiling: %+v", got)
	}
}
