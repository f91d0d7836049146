module github.com/sallyport-mcp/sallyport/pdk/go

go 1.25.0
