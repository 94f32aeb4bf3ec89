package admin

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server/call"
)

// getConfig is GET /_node/{node}/_config: sections and keys in the order of their names, those of
// the files and what was set since.
func getConfig(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	all := c.Env.Config.All()
	b := []byte{'{'}
	for _, section := range slices.Sorted(maps.Keys(all)) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, section), ':')
		b = appendTextMembers(b, all[section])
	}
	return c.JSON(http.StatusOK, append(b, '}'))
}

// getConfigSection answers with an empty object for a section that nobody has heard of, as CouchDB
// does.
func getConfigSection(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, appendTextMembers(nil, c.Env.Config.Section(c.Segment(3))))
}

// getConfigKey is 404 unknown_config_value for a key without a value.
func getConfigKey(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	value, ok := c.Env.Config.Get(c.Segment(3), c.Segment(4))
	if !ok {
		return configError(config.ErrUnknown)
	}
	return c.JSON(http.StatusOK, ejson.AppendString(nil, value))
}

// putConfigKey answers PUT /_node/{node}/_config/{section}/{key} with the value that was there
// before, an empty string if there was none. Protected sections are refused before the body is
// read. A password of an administrator is hashed here, so that neither the settings nor their file
// ever hold it in plain text.
func (h *Handlers) putConfigKey(c *call.Call) error {
	section, key := c.Segment(3), c.Segment(4)
	if config.Protected(section) {
		return configError(config.ErrProtected)
	}
	v, err := c.JSONBody()
	if err != nil {
		return err
	}
	if v.Kind() != ejson.String {
		return compat.NewError(compat.KindBadRequest, "a JSON string expected")
	}
	if err := checkNode(c); err != nil {
		return err
	}
	value := strings.Trim(v.Text(), " \t\r\n")
	if section == "admins" {
		if value, err = h.hashAdmin(c, value); err != nil {
			return err
		}
	}
	old, err := c.Env.Config.Set(section, key, value, persist(c))
	if err != nil {
		return configError(err)
	}
	return c.JSON(http.StatusOK, ejson.AppendString(nil, old))
}

// deleteConfigKey answers with the value that was there. A section that only files may change is
// refused before the node is looked at.
func deleteConfigKey(c *call.Call) error {
	section, key := c.Segment(3), c.Segment(4)
	if config.Protected(section) {
		return configError(config.ErrProtected)
	}
	if err := checkNode(c); err != nil {
		return err
	}
	old, err := c.Env.Config.Delete(section, key, persist(c))
	if err != nil {
		return configError(err)
	}
	return c.JSON(http.StatusOK, ejson.AppendString(nil, old))
}

// reloadConfig reads the files again. Passwords of administrators that were written there in the
// clear are hashed at once, as at a start.
func reloadConfig(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	if err := c.Env.Config.Reload(); err != nil {
		return compat.NewError(compat.KindBadRequest, err.Error())
	}
	if err := HashAdmins(c.Env.Config); err != nil {
		return err
	}
	return c.OK(http.StatusOK)
}

// ConfigChanged has the ini files read again after [config] auto_reload_secs without a change, as
// _reload does (config:schedule_reload).
func (h *Handlers) ConfigChanged() {
	h.reloadMu.Lock()
	defer h.reloadMu.Unlock()
	if h.reload != nil {
		h.reload.Stop()
	}
	const longest = 100 * 365 * 24 * 3600
	if seconds := min(h.env.Config.Int("config", "auto_reload_secs", 0), longest); seconds > 0 {
		h.reload = time.AfterFunc(time.Duration(seconds)*time.Second, h.autoReload)
	}
}

// autoReload is one reading. What cannot be read is tried again after as long.
func (h *Handlers) autoReload() {
	select {
	case <-h.env.Stopping():
		return
	default:
	}
	err := h.env.Config.Reload()
	if err == nil {
		err = HashAdmins(h.env.Config)
	}
	if err != nil {
		h.env.Log.Warn("the ini files could not be read again", "error", err)
		h.ConfigChanged()
	}
}

// persist reports whether a change is written to the ini file: unless X-Couch-Persist is exactly
// false.
func persist(c *call.Call) bool { return c.Header("X-Couch-Persist") != "false" }

// configError gives the configuration's errors their kinds.
func configError(err error) error {
	switch {
	case errors.Is(err, config.ErrUnknown):
		return compat.NewError(compat.KindNotFound, err.Error())
	case errors.Is(err, config.ErrProtected), errors.Is(err, config.ErrOverridden):
		return compat.NewError(compat.KindForbidden, err.Error())
	case errors.Is(err, config.ErrSection), errors.Is(err, config.ErrKey), errors.Is(err, config.ErrValue),
		errors.As(err, new(config.ReadOnlyError)):
		return compat.NewError(compat.KindBadRequest, err.Error())
	}
	return err
}
