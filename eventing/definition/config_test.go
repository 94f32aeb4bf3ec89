package definition_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

func TestConfig(t *testing.T) {
	c := definition.DefaultConfig()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.JSONEq(t, `{"enable_curl":true,"disable_curl_binding":false,"enable_debugger":false,"ram_quota":60,
		"function_size":131072,"http_request_timeout":10000000000,"enable_lifecycle_ops_during_rebalance":false,
		"allow_interbucket_recursion":false,"deployment_mode":"hybrid_mode","cursor_limit":5,"num_nodes_running":-1}`,
		string(text))
	require.NoError(t, c.Merge([]byte(`{"enable_curl":false,"unknown":1}`)))
	require.False(t, c.EnableCurl)
	require.EqualValues(t, 60, c.RAMQuota)
	before := c
	require.Error(t, c.Merge([]byte(`{"ram_quota":1,"function_size":0}`)))
	require.Equal(t, before, c, "what is refused changes nothing")
	f := parse(t, whole, definition.ParseOptions{})
	require.Error(t, c.CheckCurl(f))
	f.Bindings.Curl = nil
	require.NoError(t, c.CheckCurl(f))
}
