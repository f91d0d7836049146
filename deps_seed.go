//go:build seed

package seed

import (
	_ "github.com/dlclark/regexp2/v2"
	_ "github.com/extism/go-sdk"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/hashicorp/go-hclog"
	_ "github.com/mark3labs/mcp-go/server"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/viper"
	_ "github.com/tetratelabs/wazero"
	_ "github.com/tetratelabs/wazero/experimental"
	_ "github.com/tetratelabs/wazero/sys"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/net/idna"
	_ "golang.org/x/net/http2"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/time/rate"
)
