package settings

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// placeWorkspaces sets the workspace of each plugin and the file name of its grants. It returns an error for grants
// that use a workspace where none is set.
func (s *Settings) placeWorkspaces() error {
	for i := range s.Plugins {
		p := &s.Plugins[i]
		p.Grants = p.Grants.From(s.File)
		if p.Workspace == "" {
			p.Workspace = s.Text("workspace")
		}
		line, uses := p.Grants.Lines().UsesWorkspace()
		if !uses {
			line, uses = p.ceiling.Lines().UsesWorkspace()
		}
		if uses && p.Workspace == "" {
			return strictyaml.Errorf(line, "{workspace} stands for nothing: write workspace: ~/work, for all plugins or for this one")
		}
		if p.Workspace == "" {
			continue
		}
		abs, err := absolute(p.Workspace)
		if err != nil {
			return err
		}
		p.Workspace = abs
	}
	return nil
}

// placeSources makes the sources of plugins absolute; relative ones are based on dir.
func placeSources(plugins []Plugin, dir string) error {
	for i := range plugins {
		source := &plugins[i].Source
		if *source == "" || strings.Contains(*source, "://") {
			continue
		}
		path := *source
		if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			path = filepath.Join(dir, path)
		}
		abs, err := absolute(path)
		if err != nil {
			return err
		}
		*source = abs
	}
	return nil
}

// fillFolders sets the defaults of the plugin folder, which is beside the configuration file, of the state folder
// and of the trusted root, and makes all paths absolute.
func (v *Values) fillFolders(file string) error {
	if v.Text("dir") == "" {
		if file == "" {
			file, _ = DefaultFile()
		}
		if file == "" {
			return fmt.Errorf("no plugin folder: name one, as in sallyport serve DIR")
		}
		v.setText("dir", filepath.Join(filepath.Dir(file), "plugins"))
	}
	if v.Text("state") == "" {
		dir, err := stateFolder()
		if err != nil {
			return err
		}
		v.setText("state", dir)
	}
	if v.Text("trusted_root") == "" {
		v.setText("trusted_root", filepath.Join(v.Text("state"), "trusted_root.json"))
	}
	for _, k := range Keys() {
		if k.Kind != Path || v.Text(k.Name) == "" {
			continue
		}
		abs, err := absolute(v.Text(k.Name))
		if err != nil {
			return err
		}
		v.setText(k.Name, abs)
	}
	return nil
}

// DefaultFolders returns the default folders of configuration, plugins and state, with and without the XDG variables of
// this environment.
func DefaultFolders() (folders []string) {
	if file, err := DefaultFile(); err == nil {
		folders = append(folders, filepath.Dir(file))
	}
	if dir, err := stateFolder(); err == nil {
		folders = append(folders, dir)
	}
	if home, err := os.UserHomeDir(); err == nil && goruntime.GOOS != "windows" && goruntime.GOOS != "darwin" {
		folders = append(folders, filepath.Join(home, ".config", "sallyport"), filepath.Join(home, ".local", "state", "sallyport"))
	}
	return folders
}

// stateFolder returns the default state folder of this system.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sallyport"), nil
	}
	if goruntime.GOOS == "windows" || goruntime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "sallyport", "state"), err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no state folder: %w; use --state DIR", err)
	}
	return filepath.Join(home, ".local", "state", "sallyport"), nil
}

func absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(home, rest)
	}
	return filepath.Abs(path)
}
