package functions

import (
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/server/call"
)

// getConfig: GET /config.
func (h *Handlers) getConfig(c *call.Call) error {
	if err := requireAdmin(c); err != nil {
		return err
	}
	config, err := h.registry.Config(c.Context())
	if err != nil {
		return err
	}
	return show(c, config)
}

// postConfig changes what is in the body: POST /config.
func (h *Handlers) postConfig(c *call.Call) error {
	if err := requireAdmin(c); err != nil {
		return err
	}
	object, err := body(c)
	if err != nil {
		return err
	}
	if err := h.registry.MergeConfig(c.Context(), object); err != nil {
		return err
	}
	return done(c, "Config saved for *")
}

// deleteConfig sets everything back: DELETE /config.
func (h *Handlers) deleteConfig(c *call.Call) error {
	if err := requireAdmin(c); err != nil {
		return err
	}
	if err := h.registry.ResetConfig(c.Context()); err != nil {
		return err
	}
	return done(c, "Config deleted for *")
}

// getErrorCodes: GET /getErrorCodes.
func getErrorCodes(c *call.Call) error { return text(c, "application/json", definition.ErrorCodes()) }
