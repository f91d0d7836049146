module github.com/sallyport-mcp/sallyport/plugins

go 1.26.0

require (
	github.com/JohannesKaufmann/html-to-markdown/v2 v2.5.2
	github.com/sallyport-mcp/sallyport/pdk/go v0.0.0
	golang.org/x/net v0.62.0
)

require (
	github.com/JohannesKaufmann/dom v0.3.1 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/sallyport-mcp/sallyport/pdk/go => ../pdk/go
