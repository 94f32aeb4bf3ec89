package definition_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// wire are the errors as clients know them: number, status, name.
var wire = []struct {
	code   definition.Code
	status int
	name   string
}{
	{7, 500, "ERR_SET_SETTINGS_PS"}, {12, 406, "ERR_APP_NOT_DEPLOYED"}, {13, 404, "ERR_APP_NOT_FOUND_TS"},
	{15, 400, "ERR_READ_REQ"}, {16, 400, "ERR_UNMARSHAL_PLD"}, {17, 422, "ERR_SRC_MB_SAME"},
	{20, 422, "ERR_APP_ALREADY_DEPLOYED"}, {21, 423, "ERR_APP_NOT_BOOTSTRAPPED"},
	{22, 422, "ERR_APP_NOT_UNDEPLOYED"}, {23, 400, "ERR_PROCESSING_OR_DEPLOYMENT_STATUS_NOT_FOUND"},
	{27, 422, "ERR_HANDLER_COMPILATION"}, {29, 422, "ERR_APPNAME_MISMATCH"}, {33, 400, "ERR_SAVE_CONFIG"},
	{36, 406, "ERR_REBALANCE_OR_FAILOVER_ONGOING"}, {38, 400, "ERR_INVALID_CONFIG"}, {39, 400, "ERR_APPCODE_SIZE"},
	{41, 400, "ERR_BUCKET_MISSING"}, {45, 400, "ERR_DEBUGGER_DISABLED"}, {46, 406, "ERR_MIXED_MODE"},
	{49, 400, "ERR_BUCKET_ACCESS"}, {50, 400, "ERR_INTER_FUNCTION_RECURSION"},
	{51, 400, "ERR_INTER_BUCKET_RECURSION"}, {53, 404, "ERR_APP_NOT_FOUND"}, {55, 400, "ERR_REQUESTED_OP_FAILED"},
	{56, 400, "ERR_COLLECTION_MISSING"}, {59, 500, "INTERNAL_SERVER_ERROR"}, {60, 403, "ERR_FORBIDDEN"},
	{61, 401, "ERR_UNAUTHENTICATED"}, {62, 405, "ERR_METHOD_NOT_ALLOWED"}, {63, 400, "ERR_INVALID_REQUEST"},
	{64, 422, "ERR_APP_PAUSED"},
}

func TestCodes(t *testing.T) {
	for _, w := range wire {
		require.Equal(t, w.status, w.code.Status(), "%d", w.code)
		require.Equal(t, w.name, w.code.Name(), "%d", w.code)
	}
	require.Equal(t, 200, definition.CodeOK.Status())
	require.Equal(t, 500, definition.Code(1000).Status())
}

func TestErrorCodes(t *testing.T) {
	var answer struct {
		HeaderKey string `json:"header_key"`
		Version   int
		Revision  int
		Errors    []struct {
			Name, Description string
			Code              definition.Code
			Attributes        []string
		}
	}
	require.NoError(t, json.Unmarshal(definition.ErrorCodes(), &answer))
	require.Equal(t, "status", answer.HeaderKey)
	require.Equal(t, 1, answer.Version)
	require.Equal(t, 1, answer.Revision)
	require.Len(t, answer.Errors, len(wire))
	for i, e := range answer.Errors {
		require.Equal(t, wire[i].code, e.Code)
		require.Equal(t, wire[i].name, e.Name)
		require.NotEmpty(t, e.Description)
		require.Equal(t, e.Code == 59, len(e.Attributes) == 1, "only internal errors are worth a repetition")
	}
}

func TestErrorOnTheWire(t *testing.T) {
	text, err := definition.JSON(definition.Errorf(definition.CodeNotFound, "Function: %s not found", "<f>"))
	require.NoError(t, err)
	require.Equal(t, `{
 "name": "ERR_APP_NOT_FOUND_TS",
 "code": 13,
 "description": "Function: <f> not found"
}`, string(text))
	text, err = definition.JSON(definition.NewCompileError(42, 3, 9, "SyntaxError"))
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"ERR_HANDLER_COMPILATION","code":27,"description":{"language":"JavaScript",
		"compile_success":false,"index":42,"line_number":3,"column_number":9,"area":"handler.js",
		"description":"SyntaxError"}}`, string(text))
	text, err = definition.JSON(definition.AsError(errors.New("out of order")))
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"INTERNAL_SERVER_ERROR","code":59,"description":"out of order",
		"attributes":["retry"]}`, string(text))
	wrapped := fmt.Errorf("at a place: %w", definition.Errorf(definition.CodePaused, "it rests"))
	require.Equal(t, definition.CodePaused, definition.AsError(wrapped).Code)
	require.Equal(t, "line 3, column 9: SyntaxError", definition.NewCompileError(42, 3, 9, "SyntaxError").Error())
}
