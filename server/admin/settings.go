package admin

import (
	"encoding/json"
	"net/http"

	"github.com/settee-db/settee/server/call"
)

// getSettings answers GET /_node/{node}/_settings: each setting with its value, default, origin and
// meaning. docs/configuration.md is made from the same table.
func getSettings(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	body, err := json.Marshal(c.Env.Config.Known())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, append(append([]byte(`{"settings":`), body...), '}'))
}
