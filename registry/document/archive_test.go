package document

import (
	"archive/zip"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pack returns an archive of paths and texts.
func pack(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const skillText = "---\nname: pdf-forms\ndescription: Fills forms.\nlicense: MIT\n---\nBody.\n"

func TestParseSkill_listsItsFiles(t *testing.T) {
	for _, folder := range []string{"", "pdf/"} {
		s, err := parseSkill(pack(t, folder+"SKILL.md", skillText, folder+"references/a.txt", "A", folder+"references/deep/b.bin", "\xff", folder+"z.md", ""))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"uri":"skill://pdf-forms/SKILL.md","frontmatter":{"name":"pdf-forms","description":"Fills forms.","license":"MIT"},"resources":[` +
			`{"uri":"skill://pdf-forms/SKILL.md","digest":"sha256:`
		if !strings.HasPrefix(string(s.Entry), want) || strings.Count(string(s.Entry), `"digest"`) != 4 || !strings.Contains(string(s.Entry), `"uri":"skill://pdf-forms/references/a.txt","digest":"sha256:559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd","size":1}`) {
			t.Errorf("got entry %s, want 4 digests after %s", s.Entry, want)
		}
		for dir, want := range map[string]string{
			"skill://pdf-forms":                 "[SKILL.md=text/markdown references=inode/directory z.md=text/markdown]",
			"skill://pdf-forms/":                "[SKILL.md=text/markdown references=inode/directory z.md=text/markdown]",
			"skill://pdf-forms/references":      "[a.txt=text/plain deep=inode/directory]",
			"skill://pdf-forms/references/deep": "[b.bin=application/octet-stream]",
			"skill://pdf-forms/SKILL.md":        "none",
			"skill://pdf-forms/ref":             "none",
			"skill://other":                     "none",
		} {
			list, ok := s.Children(dir)
			var got []string
			for _, c := range list {
				got = append(got, c.Name+"="+c.MIMEType)
			}
			if text := fmt.Sprint(got); ok != (want != "none") || ok && text != want {
				t.Errorf("%s: got %s, %v; want %s", dir, text, ok, want)
			}
		}
		if f, ok := s.Read("skill://pdf-forms/references/a.txt"); !ok || string(f.Data) != "A" || f.MIMEType != "text/plain" {
			t.Errorf("got %+v, want a hit, string(f.Data) = \"A\", f.MIMEType = \"text/plain\"", f)
		}
		if _, ok := s.Read("skill://pdf-forms/references"); ok {
			t.Error("Read of a folder: got a file, want none")
		}
	}
}

func TestParseSkill_refusesBrokenArchives(t *testing.T) {
	many := []string{"SKILL.md", skillText}
	for i := range maxFiles {
		many = append(many, fmt.Sprint(i), "")
	}
	for want, raw := range map[string][]byte{
		"the file is no zip archive: zip: not a valid zip file":                 []byte("text"),
		"the archive has no SKILL.md":                                           pack(t, "a/x", "", "b/y", ""),
		"SKILL.md: line 1: the file does not begin with a line of three dashes": pack(t, "SKILL.md", "text"),
		"SKILL.md: name must be 1 to 64 lower-case letters, digits and dashes":  pack(t, "SKILL.md", "---\nname: Pdf\ndescription: x\n---\n"),
		"SKILL.md: description must be a text of 1 to 1024 bytes":               pack(t, "SKILL.md", "---\nname: pdf\n---\n"),
		`"../x" is no plain file of its own in the archive`:                     pack(t, "SKILL.md", skillText, "../x", ""),
		`"/x" is no plain file of its own in the archive`:                       pack(t, "SKILL.md", skillText, "/x", ""),
		`"a\\x" is no plain file of its own in the archive`:                     pack(t, "SKILL.md", skillText, `a\x`, ""),
		`"x" is no plain file of its own in the archive`:                        pack(t, "SKILL.md", skillText, "x", "1", "x", "2"),
		"the archive has over 512 files":                                        pack(t, many...),
		"bomb: the files are over 16 MiB":                                       pack(t, "SKILL.md", skillText, "bomb", strings.Repeat("0", maxBytes)),
	} {
		if _, err := parseSkill(raw); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func FuzzParseSkill(f *testing.F) {
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := parseSkill(raw); err == nil && !slices.IsSorted(s.order) {
			t.Errorf("got files %q, want them sorted", s.order)
		}
	})
}

// An archive with an oversized directory is rejected before the directory is read.
func TestParseSkill_limitsListedFiles(t *testing.T) {
	var files []string
	for i := range maxListed + 1 {
		files = append(files, fmt.Sprint("f", i), "")
	}
	raw := pack(t, files...)
	if _, err := parseSkill(raw); err == nil || err.Error() != "the archive lists 4097 files; a skill has at most 512" {
		t.Errorf("got %v, want an error of 4097 files", err)
	}
	if n := testing.AllocsPerRun(1, func() { _, _ = parseSkill(raw) }); n > 20 {
		t.Errorf("got %v allocations, want at most 20", n)
	}
	inner := pack(t, files[:2*maxListed/2]...)
	if _, err := parseSkill(pack(t, "SKILL.md", skillText, "inner.zip", string(inner))); err != nil {
		t.Errorf("an archive in the skill: got %v, want no error", err)
	}
}
