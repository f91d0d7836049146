package otlp

// Names of the semantic conventions of OpenTelemetry for MCP (docs/gen-ai/mcp.md of semantic-conventions-genai, commit
// 0393513c, in development). Of a server's span they have all that is required, and not the recommended addresses of the
// peer, nor its session, whose ID is a secret of the client.
const (
	serviceName     = "service.name"
	serviceVersion  = "service.version"
	serviceInstance = "service.instance.id"

	methodName      = "mcp.method.name"
	protocolVersion = "mcp.protocol.version"
	resourceURI     = "mcp.resource.uri"
	toolName        = "gen_ai.tool.name"
	promptName      = "gen_ai.prompt.name"
	operation       = "gen_ai.operation.name"
	executeTool     = "execute_tool"
	requestID       = "jsonrpc.request.id"
	statusCode      = "rpc.response.status_code" // a text
	errorType       = "error.type"

	// OperationDuration is the metric of the time of a request, in seconds.
	OperationDuration = "mcp.server.operation.duration"
	// Method and Outcome are its attributes.
	Method  = methodName
	Outcome = errorType
)

// Names of our own.
const (
	callID   = "sallyport.call"
	plugin   = "sallyport.plugin"
	outcome  = "sallyport.outcome"
	fuel     = "sallyport.fuel"
	memory   = "sallyport.memory"
	effects  = "sallyport.effects."  // with the family
	refusals = "sallyport.refusals." // with the family
	isTask   = "sallyport.task"
)
