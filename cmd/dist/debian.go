package main

import (
	"bytes"
	"crypto/md5"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// unit is the service of a user, for systemd.
//
//go:embed files/sallyport.service
var unit []byte

// debs returns the Debian package of each Linux program.
func debs(r *release) (files []artefact, err error) {
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		content, err := deb(r, p)
		if err != nil {
			return nil, err
		}
		files = append(files, artefact{fmt.Sprintf("sallyport_%s_%s.deb", r.version.debian(), p.arch), content})
	}
	return files, nil
}

// deb returns a Debian package (deb(5)): an ar archive of its version, its control files and its files.
func deb(r *release, p built) ([]byte, error) {
	installed, err := installedFiles(r, p)
	if err != nil {
		return nil, err
	}
	var sums strings.Builder
	size := 0
	for _, m := range installed {
		if !strings.HasSuffix(m.name, "/") {
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(m.content), strings.TrimPrefix(m.name, "./"))
			size += len(m.content)
		}
	}
	control := fmt.Sprintf("Package: sallyport\nVersion: %s\nArchitecture: %s\nMaintainer: %s <%s>\nInstalled-Size: %d\nSection: utils\nPriority: optional\nHomepage: %s\nDescription: %s\n %s\n",
		r.version.debian(), p.arch, maintainer, "sallyport-mcp@users.noreply.github.com", (size+1023)/1024, homepage, summary, details)
	controls, err := tarball([]member{{name: "./", mode: 0o755}, {name: "./control", mode: 0o644, content: []byte(control)}, {name: "./md5sums", mode: 0o644, content: []byte(sums.String())}}, r.at)
	if err != nil {
		return nil, err
	}
	data, err := tarball(installed, r.at)
	if err != nil {
		return nil, err
	}
	return ar([]member{{name: "debian-binary", content: []byte("2.0\n")}, {name: "control.tar.gz", content: controls}, {name: "data.tar.gz", content: data}}, r.at), nil
}

// installedFiles returns the files of a package where Debian's policy wants them, with their folders.
func installedFiles(r *release, p built) ([]member, error) {
	files := append(p.executables("./usr/bin/"), member{name: "./usr/lib/systemd/user/sallyport.service", mode: 0o644, content: unit})
	for _, d := range r.docs {
		place, content := debianPlace(d.name), d.content
		if place == "" {
			continue
		}
		if strings.HasSuffix(place, ".gz") {
			var err error
			if content, err = compressed(content); err != nil {
				return nil, err
			}
		}
		files = append(files, member{name: "./" + place, mode: 0o644, content: content})
	}
	folders := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			folders["./"+dir+"/"] = true
		}
	}
	folders["./"] = true
	for name := range folders {
		files = append(files, member{name: name, mode: 0o755})
	}
	slices.SortFunc(files, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// debianPlace returns the path of a document in a Debian system; "" for one that has none.
func debianPlace(name string) string {
	folder, base := path.Split(name)
	switch {
	case name == "LICENSE":
		return "usr/share/doc/sallyport/copyright"
	case name == "README.md":
		return "usr/share/doc/sallyport/README.md.gz"
	case folder == "man/":
		return "usr/share/man/man1/" + base + ".gz"
	case base == "sallyport.bash":
		return "usr/share/bash-completion/completions/sallyport"
	case base == "_sallyport":
		return "usr/share/zsh/vendor-completions/_sallyport"
	case base == "sallyport.fish":
		return "usr/share/fish/vendor_completions.d/sallyport.fish"
	}
	return ""
}

// ar returns an archive in the common format of ar(5).
func ar(members []member, at time.Time) []byte {
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, m := range members {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, at.Unix(), 0, 0, "100644", len(m.content))
		out.Write(m.content)
		if len(m.content)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
