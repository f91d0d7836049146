module example.com/guest

go 1.25

require github.com/extism/go-pdk v1.1.3
