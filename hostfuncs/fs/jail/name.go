package jail

import (
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/hostfuncs/fs/jail/system"
	"github.com/sallyport-mcp/sallyport/hostfuncs/wasi"
)

const (
	// nameBatch is the number of names read at once while searching a folder.
	nameBatch = 1024
	// maxNames limits that search. A name not found by then does not exist.
	maxNames = 1 << 20
)

// checkName rejects names that are invalid or have another meaning on this system.
func checkName(name string) wasi.Errno {
	switch {
	case len(name) > maxName:
		return wasi.ENAMETOOLONG
	case strings.ContainsRune(name, 0):
		return wasi.EINVAL
	case os.PathSeparator == '\\' && aliasOnWindows(name):
		return wasi.ENOENT
	}
	return wasi.ESUCCESS
}

// aliasOnWindows reports whether Windows maps a name to another file: separators, streams and drives, devices,
// trailing dots and spaces, short names.
func aliasOnWindows(name string) bool {
	if strings.ContainsAny(name, `\:*?"<>|`) || strings.TrimRight(name, ". ") != name {
		return true
	}
	if i := strings.LastIndexByte(name, '~'); i >= 0 && i+1 < len(name) && name[i+1] >= '0' && name[i+1] <= '9' {
		return true
	}
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		port, ok = strings.CutPrefix(stem, "LPT")
	}
	return ok && utf8.RuneCountInString(port) == 1 && strings.ContainsAny(port, "0123456789¹²³")
}

// trueName returns the name as the folder lists it, for file systems that accept other spellings. Decisions are made
// on the listed name. It is empty if the folder does not list the name.
func trueName(root *os.Root, name string, info fs.FileInfo) string {
	if !hasAlias(root, name, info) {
		return name
	}
	d, err := root.Open(".")
	if err != nil {
		return ""
	}
	defer func() { _ = d.Close() }()
	found := ""
	for range maxNames / nameBatch {
		names, err := d.Readdirnames(nameBatch)
		for _, n := range names {
			if n == name {
				return name
			}
			if strings.EqualFold(n, name) && same(root, n, info) {
				found = n
			}
		}
		if err != nil || len(names) == 0 {
			break
		}
	}
	return found
}

// hasAlias reports whether the folder may contain the file under a different spelling.
func hasAlias(root *os.Root, name string, info fs.FileInfo) bool {
	if !isASCII(name) && system.Normalizes {
		return true
	}
	other := swapCase(name)
	return other != name && same(root, other, info)
}

func same(root *os.Root, name string, info fs.FileInfo) bool {
	st, err := root.Lstat(name)
	return err == nil && os.SameFile(st, info)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// swapCase changes lower case to upper case and the reverse.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if l := unicode.ToLower(r); l != r {
			return l
		}
		return unicode.ToUpper(r)
	}, s)
}
