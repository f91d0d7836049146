package streamable

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/transport/transporttest"
)

func TestMain(m *testing.M) { transporttest.Main(m) }
