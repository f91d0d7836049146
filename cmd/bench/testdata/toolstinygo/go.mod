module example.com/tools

go 1.25.0

require github.com/sallyport-mcp/sallyport/pdk/go v0.0.0

replace github.com/sallyport-mcp/sallyport/pdk/go => ../../../../pdk/go
