// Module programs pins the programs that TestPrograms wraps. Nothing here is part of Sallyport.
module programs

go 1.26.0

tool (
	github.com/Kunde21/markdownfmt/v3/cmd/markdownfmt
	github.com/cpuguy83/go-md2man/v2
	github.com/evanw/esbuild/cmd/esbuild
	github.com/google/go-jsonnet/cmd/jsonnet
	github.com/google/yamlfmt/cmd/yamlfmt
	github.com/mikefarah/yq/v4
	github.com/niklasfasching/go-org
	github.com/pelletier/go-toml/v2/cmd/tomljson
	mvdan.cc/sh/v3/cmd/shfmt
)

require (
	github.com/Kunde21/markdownfmt/v3 v3.1.0 // indirect
	github.com/a8m/envsubst v1.4.2 // indirect
	github.com/alecthomas/chroma/v2 v2.5.0 // indirect
	github.com/alecthomas/participle/v2 v2.1.1 // indirect
	github.com/bmatcuk/doublestar/v4 v4.10.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/dimchansky/utfbom v1.1.1 // indirect
	github.com/dlclark/regexp2 v1.4.0 // indirect
	github.com/elliotchance/orderedmap v1.7.1 // indirect
	github.com/evanw/esbuild v0.25.0 // indirect
	github.com/fatih/color v1.19.0 // indirect
	github.com/goccy/go-json v0.10.4 // indirect
	github.com/goccy/go-yaml v1.13.3 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/google/go-jsonnet v0.21.0 // indirect
	github.com/google/renameio/v2 v2.0.0 // indirect
	github.com/google/yamlfmt v0.21.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jinzhu/copier v0.4.0 // indirect
	github.com/magiconair/properties v1.8.9 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/mattn/go-runewidth v0.0.21 // indirect
	github.com/mikefarah/yq/v4 v4.45.1 // indirect
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/niklasfasching/go-org v1.9.1 // indirect
	github.com/pelletier/go-toml/v2 v2.2.4 // indirect
	github.com/pkg/diff v0.0.0-20210226163009-20ebb0f2a09e // indirect
	github.com/rogpeppe/go-internal v1.14.1 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/sabhiram/go-gitignore v0.0.0-20210923224102-525f6e181f06 // indirect
	github.com/spf13/cobra v1.8.1 // indirect
	github.com/spf13/pflag v1.0.5 // indirect
	github.com/yuin/goldmark v1.7.17 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	go.yaml.in/yaml/v3 v3.0.3 // indirect
	golang.org/x/crypto v0.49.0 // indirect
	golang.org/x/net v0.52.0 // indirect
	golang.org/x/sys v0.42.0 // indirect
	golang.org/x/term v0.41.0 // indirect
	golang.org/x/text v0.35.0 // indirect
	gopkg.in/op/go-logging.v1 v1.0.0-20160211212156-b2cb9fa56473 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
	mvdan.cc/editorconfig v0.3.0 // indirect
	mvdan.cc/sh/v3 v3.11.0 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
