module example.com/tools

go 1.25

require github.com/extism/go-pdk v1.1.3
