module github.com/sallyport-mcp/sallyport/plugins/goawk

go 1.26.0

tool github.com/benhoyt/goawk

require github.com/benhoyt/goawk v1.29.1 // indirect
