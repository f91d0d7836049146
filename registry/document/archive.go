package document

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// skillSuffix is the suffix of skill file names.
const skillSuffix = ".skill"

// Limits of one skill, as in the MCP extension for skills.
const (
	maxFiles       = 512
	maxBytes       = 16 << 20 // of all files together, unpacked
	maxSkillName   = 64
	maxDescription = 1024
)

// listed begins each entry of an archive's central directory (APPNOTE 4.3.12). zip.NewReader reads all of them,
// regardless of the declared count, so they are counted first. An archive within the skill may add some.
const (
	listed    = "PK\x01\x02"
	maxListed = 8 * maxFiles
)

// SkillEntry is the file that every skill has.
const SkillEntry = "SKILL.md"

// directory is the MIME type of a folder.
const directory = "inode/directory"

// Skill is one parsed archive: a SKILL.md, with the purpose of the skill in its front matter, and the files that it refers
// to. The files may lie in one folder of the archive.
type Skill struct {
	Name        string
	Description string
	URI         string          // of its SKILL.md
	Entry       json.RawMessage // its element of skills/list

	files map[string]*SkillFile // by path within the skill
	order []string              // the paths, sorted
}

// SkillFile is one file of a skill.
type SkillFile struct {
	URI      string
	MIMEType string
	Data     []byte
}

// SkillChild is an entry of a folder.
type SkillChild struct{ URI, Name, MIMEType string }

// parseSkill parses an archive.
func parseSkill(raw []byte) (*Skill, error) {
	if n := bytes.Count(raw, []byte(listed)); n > maxListed {
		return nil, fmt.Errorf("the archive lists %d files; a skill has at most %d", n, maxFiles)
	}
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, fmt.Errorf("the file is no zip archive: %w", err)
	}
	contents, err := unpack(archive)
	if err != nil {
		return nil, err
	}
	contents = withoutFolder(contents)
	head, err := strictyaml.FrontMatter(contents[SkillEntry])
	switch {
	case contents[SkillEntry] == nil:
		return nil, fmt.Errorf("the archive has no %s", SkillEntry)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", SkillEntry, err)
	}
	s := &Skill{files: map[string]*SkillFile{}}
	if err := s.head(head.Values); err != nil {
		return nil, fmt.Errorf("%s: %w", SkillEntry, err)
	}
	s.fill(contents, head.Values)
	return s, nil
}

// unpack reads the files of an archive, up to the limits, regardless of the sizes that the archive declares.
func unpack(archive *zip.Reader) (map[string][]byte, error) {
	contents, left := map[string][]byte{}, int64(maxBytes)
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !f.Mode().IsRegular() || !validPath(f.Name) || contents[f.Name] != nil {
			return nil, fmt.Errorf("%q is no plain file of its own in the archive", f.Name)
		}
		if len(contents) >= maxFiles {
			return nil, fmt.Errorf("the archive has over %d files", maxFiles)
		}
		data, err := unzip(f, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		left -= int64(len(data))
		contents[f.Name] = data
	}
	return contents, nil
}

func unzip(f *zip.File, left int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, left+1))
	if err == nil && int64(len(data)) > left {
		err = fmt.Errorf("the files are over %d MiB", maxBytes>>20)
	}
	return slices.Grow(data, 1), err // never nil
}

// validPath reports whether a path is the same on all systems and in a URI.
func validPath(p string) bool {
	if len(p) > 1<<10 || p != path.Clean(p) || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "..") {
		return false
	}
	for _, c := range p {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_./", c) {
			return false
		}
	}
	return true
}

// withoutFolder strips the folder that contains all files, if there is one.
func withoutFolder(contents map[string][]byte) map[string][]byte {
	if contents[SkillEntry] != nil {
		return contents
	}
	folder, out := "", map[string][]byte{}
	for name, data := range contents {
		first, rest, found := strings.Cut(name, "/")
		if !found || folder != "" && folder != first {
			return contents
		}
		folder, out[rest] = first, data
	}
	return out
}

// head checks the front matter of SKILL.md against the extension.
func (s *Skill) head(values jsonraw.Object) error {
	s.Name, _ = jsonraw.String(values.Get("name"))
	if s.Name == "" || len(s.Name) > maxSkillName || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return errors.New("name must be 1 to 64 lower-case letters, digits and dashes")
	}
	if s.Description, _ = jsonraw.String(values.Get("description")); s.Description == "" || len(s.Description) > maxDescription {
		return fmt.Errorf("description must be a text of 1 to %d bytes", maxDescription)
	}
	return nil
}

// fill sets the files, the URI and the Entry.
func (s *Skill) fill(contents map[string][]byte, front jsonraw.Object) {
	var resources []string
	for name := range contents {
		s.order = append(s.order, name)
	}
	slices.Sort(s.order)
	for _, name := range s.order {
		f := &SkillFile{URI: s.uri(name), MIMEType: typeOf(name, contents[name]), Data: contents[name]}
		s.files[name] = f
		sum := sha256.Sum256(f.Data)
		resources = append(resources, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%s","size":%d}`, f.URI, hex.EncodeToString(sum[:]), len(f.Data)))
	}
	s.URI = s.uri(SkillEntry)
	s.Entry = jsonraw.Object{
		{Key: "uri", Value: jsonraw.AppendString(nil, s.URI)},
		{Key: "frontmatter", Value: front.Append(nil)},
		{Key: "resources", Value: json.RawMessage("[" + strings.Join(resources, ",") + "]")},
	}.Append(nil)
}

func (s *Skill) uri(name string) string { return "skill://" + s.Name + "/" + name }

func typeOf(name string, data []byte) string {
	ext := strings.ToLower(path.Ext(name))
	switch kind, _, _ := strings.Cut(mime.TypeByExtension(ext), ";"); {
	case ext == ".md":
		return "text/markdown"
	case kind != "":
		return kind
	case utf8.Valid(data):
		return "text/plain"
	}
	return "application/octet-stream"
}

// Read returns a file of the skill by its URI.
func (s *Skill) Read(uri string) (*SkillFile, bool) {
	name, ok := strings.CutPrefix(uri, s.uri(""))
	f := s.files[name]
	return f, ok && f != nil
}

// Files returns the contents of the skill's files by path. The caller must not modify them.
func (s *Skill) Files() map[string][]byte {
	all := make(map[string][]byte, len(s.files))
	for name, f := range s.files {
		all[name] = f.Data
	}
	return all
}

// Children returns the entries of a folder of the skill, sorted by path; false if the URI is not a folder.
func (s *Skill) Children(uri string) ([]SkillChild, bool) {
	folder, ok := strings.CutPrefix(strings.TrimSuffix(uri, "/")+"/", s.uri(""))
	if !ok {
		return nil, false
	}
	var list []SkillChild
	for _, name := range s.order {
		rest, inside := strings.CutPrefix(name, folder)
		if !inside {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		child := SkillChild{URI: s.uri(folder + first), Name: first, MIMEType: directory}
		if !deeper {
			child.MIMEType = s.files[name].MIMEType
		}
		if len(list) == 0 || list[len(list)-1].URI != child.URI {
			list = append(list, child)
		}
	}
	return list, len(list) > 0
}
