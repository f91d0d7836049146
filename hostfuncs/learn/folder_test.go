package learn

import "testing"

// Files of one folder have a line for it, unless it is too wide, or holds what only a line of its own reaches.
func TestFolder(t *testing.T) {
	p := Places{Home: "/home/me", Workspace: "/srv/work"}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"fs: read ~/repo", "fs: read ~/repo/*", "fs: read ~/repo/.git/config"}, "fs: read ~/repo/**"},
		{[]string{"fs: read ~/repo/.git/HEAD", "fs: read ~/repo/.git/config"}, "fs: read ~/repo/.git/**"},
		{[]string{"fs: read /srv/data/a/1", "fs: read /srv/data/b"}, "fs: read /srv/data/**"},
		{[]string{"fs: read ~/repo-a/x", "fs: read ~/repo-b/x"}, ""},                                           // the home
		{[]string{"fs: read /home/me/a", "fs: read /home/you/a"}, ""},                                          // beside it
		{[]string{"fs: read /etc/a", "fs: read /etc/b"}, ""}, {[]string{"fs: read /a/1", "fs: read /a/2"}, ""}, // the system, and below the root
		{[]string{"fs: read /a", "fs: read /b"}, ""},
		{[]string{"fs: read ~/.config/a", "fs: read ~/.config/b"}, ""},
		{[]string{"fs: read ~/.ssh/id_rsa", "fs: read ~/.ssh/config"}, ""},
		{[]string{"fs: read ~/.local/share/app/x", "fs: read ~/.local/share/powershell/psreadline/x"}, ""}, // no star reaches it
		{[]string{"fs: read ~/repo/a", "fs: write ~/repo/b"}, ""},
		{[]string{"fs: read ~/repo/a"}, ""}, {nil, ""},
		{[]string{"fs: read ~/repo/**", "fs: read ~/repo/a"}, ""},
	} {
		if got := Folder(c.lines, p); got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
}
