package grant

import (
	"slices"
	"strings"
)

// needs marks the steps of a path that a line must spell out; the steps are in lower case.
func (p Places) needs(op Op, steps []string) []need {
	needs := make([]need, len(steps))
	if p.Home != "" {
		markCredentials(op, p.real(p.Home), steps, needs)
	}
	if op == Write {
		markStartup(steps, needs)
	}
	return needs
}

// markCredentials marks folders below the home that hold keys: whoever reads them is the operator. The
// folders above them are marked for writing, so that none can be moved to where it is not known.
func markCredentials(op Op, place string, path []string, needs []need) {
	home := foldAll(steps(place))
	for _, folder := range credentials() {
		secret := slices.Concat(home, folder)
		if _, inside := below(path, secret); inside {
			for i := range folder {
				needs[len(home)+i] = needLiteral
			}
		}
		if _, above := below(secret, path); above && op == Write && len(path) > 0 {
			needs[len(path)-1] = needLiteral
		}
	}
}

// credentials are folders and files of keys, below the home.
func credentials() [][]string {
	return [][]string{
		{".ssh"}, {".gnupg"}, {".aws"}, {".azure"}, {".kube"}, {".docker"}, {".netrc"}, {".npmrc"}, {".pypirc"},
		{".git-credentials"}, {".password-store"}, {".config", "gcloud"}, {".config", "gh"}, {".config", "op"},
		{".local", "share", "keyrings"}, {"library", "keychains"}, {"appdata", "roaming", "gcloud"},
	}
}

// markStartup marks what makes a later program run code that was written here.
func markStartup(steps []string, needs []need) {
	for i, s := range steps {
		last := i == len(steps)-1
		if slices.Contains(startupNames(), s) || isConfigFolder(steps[:i], s) || last && s == ".config" {
			needs[i] = needLiteral
		}
		if s == ".git" {
			markGit(steps[i:], needs[i:])
		}
	}
}

// startupNames are files and folders that shells, editors and tools load by themselves.
func startupNames() []string {
	return []string{
		".ssh", ".mcp.json", ".vscode", ".idea", ".envrc", ".gitconfig",
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout",
		".xprofile", ".xinitrc", ".xsession", ".inputrc", ".vimrc", ".exrc", ".npmrc",
	}
}

// isConfigFolder reports whether s is a folder of start-up files below .config or a PowerShell profile.
func isConfigFolder(before []string, s string) bool {
	in := len(before) > 0 && before[len(before)-1] == ".config"
	return in && slices.Contains([]string{"fish", "autostart", "systemd", "powershell", "git", "nvim"}, s) ||
		strings.HasSuffix(s, "profile.ps1")
}

// markGit marks the hooks and the config of a repository, and the repositories inside it; and the
// folder as a whole, so that none that was prepared elsewhere can be moved there. steps begins with .git.
func markGit(steps []string, needs []need) {
	if len(steps) == 1 {
		needs[0] = needLiteral
		return
	}
	if s := steps[1]; s == "hooks" || s == "modules" || s == "worktrees" || strings.HasPrefix(s, "config") {
		needs[0], needs[1] = needLiteral, needLiteral
	}
}
