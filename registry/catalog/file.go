package catalog

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/sallyport-mcp/sallyport/hostfuncs/grant"
	"github.com/sallyport-mcp/sallyport/registry/manifest"
)

// checkFile reports why a plugin may not publish a file: URI or template. It needs a grant to read that file, or for a
// template something below its literal folder. Reads are checked again at the time of the call.
func checkFile(k manifest.Kind, d manifest.Entry, grants *grant.Set, places grant.Places) error {
	text := d.ID
	if k == manifest.Template {
		text = d.Pattern.Prefix()
	}
	scheme, _, _ := strings.Cut(text, ":")
	if !strings.EqualFold(scheme, "file") {
		return nil
	}
	path, err := filePath(text)
	if err != nil {
		return err
	}
	if k == manifest.Template {
		folder := path[:strings.LastIndexByte(path, '/')+1]
		if grants.Files(places).Above(folder) {
			return nil
		}
		return errors.New("a file: template needs an fs grant at or below its folder")
	}
	if grants.Files(places).Decide(grant.Read, path).Allowed {
		return nil
	}
	return fmt.Errorf("a file: resource needs a grant such as fs: read %s", path)
}

// filePath returns the path of a file: URI, with slashes; the URI must name this machine.
func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
		return "", errors.New("a file: URI must be file:/// and an absolute path")
	}
	path := u.Path
	if len(path) > 2 && path[2] == ':' { // /C:/x
		path = path[1:]
	}
	if strings.Contains(path+"/", "/../") || strings.ContainsRune(path, 0) {
		return "", errors.New("a file: URI cannot hold .. segments")
	}
	return filepath.ToSlash(path), nil
}
