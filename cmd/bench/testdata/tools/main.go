// Tools is a plugin with the three tools of the comparison, built with Sallyport's PDK for Go. Its package workload is
// cmd/bench/internal/workload, by an overlay of the build.
package main

import (
	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"

	"example.com/tools/workload"
)

// The version is replaced in copies of the module, which then differ in their data.
var plugin = sallyport.New("tools", "copy 000",
	sallyport.Tool("echo", "answers with its text", func(_ *sallyport.Call, a workload.EchoArgs) (string, error) { return a.Text, nil }),
	sallyport.Tool("report", "totals sales by region",
		func(_ *sallyport.Call, a workload.ReportArgs) (workload.Report, error) { return workload.Total(a) },
		sallyport.WarmWith(workload.Example(1))),
	sallyport.Tool("sha", "digests 64 KiB", func(_ *sallyport.Call, a workload.SHAArgs) (string, error) { return workload.Digest(a), nil }),
)

func init() { plugin.Serve() }

func main() {}
