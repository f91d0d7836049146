package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// wheels returns a wheel for each program (PEP 427), which pip puts on the path as it is.
func wheels(r *release) (files []artefact, err error) {
	for _, p := range r.programs {
		file, err := wheel(r, p)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func wheel(r *release, p built) (artefact, error) {
	name := "sallyport-" + r.version.python()
	var tags strings.Builder
	for _, platform := range strings.Split(p.platforms(), ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", platform)
	}
	members := p.executables(name + ".data/scripts/")
	var readme []byte
	for _, d := range r.docs {
		switch d.name {
		case "LICENSE":
			members = append(members, member{name: name + ".dist-info/licenses/LICENSE", mode: 0o644, content: d.content})
		case "README.md":
			readme = d.content
		}
	}
	head := fmt.Sprintf("Metadata-Version: 2.4\nName: sallyport\nVersion: %s\nSummary: %s\nLicense-Expression: %s\nLicense-File: LICENSE\nProject-URL: Homepage, %s\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n",
		r.version.python(), summary, licence, homepage)
	members = append(members,
		member{name: name + ".dist-info/METADATA", mode: 0o644, content: append([]byte(head+"<!-- mcp-name: "+serverName+" -->\n\n"), readme...)},
		member{name: name + ".dist-info/WHEEL", mode: 0o644, content: []byte("Wheel-Version: 1.0\nGenerator: sallyport\nRoot-Is-Purelib: false\n" + tags.String())})
	var record strings.Builder
	for _, m := range members {
		sum := sha256.Sum256(m.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", m.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(m.content))
	}
	list := name + ".dist-info/RECORD"
	fmt.Fprintf(&record, "%s,,\n", list)
	content, err := zipped(append(members, member{name: list, mode: 0o644, content: []byte(record.String())}), r.at)
	return artefact{name + "-py3-none-" + p.platforms() + ".whl", content}, err
}

// platforms returns the platform tags of a program. The one for Linux is linked statically, and runs with any libc.
func (t target) platforms() string {
	processor := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
	switch t.os {
	case "linux":
		return "manylinux_2_17_" + processor + ".musllinux_1_1_" + processor
	case "darwin":
		return "macosx_12_0_" + map[string]string{"amd64": "x86_64", "arm64": "arm64"}[t.arch]
	default:
		return "win_" + t.arch
	}
}
